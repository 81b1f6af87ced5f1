//! One address is one sender, however it is written, and nobody is taken for another on a guess.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use roomkit_core::identity::{AddressNormalizer, DefaultAddressNormalizer, StoredIdentities};
use roomkit_core::model::{
    ChannelType, IdentificationStatus, Identity, InboundMessage, ParticipantId,
};
use roomkit_core::store::{MemoryStore, Page, RoomFilter};
use roomkit_core::{RoomKit, Rooms};

use super::support::{Transport, say};

use ChannelType::{Email, Messenger, Sms, Voice, Websocket, Whatsapp};

#[test]
fn every_way_of_writing_an_address_has_one_form() {
    let cases: &[(ChannelType, &str, &str)] = &[
        (Sms, "+15550100000", "+15550100000"),
        (Sms, "+1 (555) 010-0000", "+15550100000"),
        (Sms, " +1.555.010.0000 ", "+15550100000"),
        (Sms, "tel:+1-555-010-0000", "+15550100000"),
        (Sms, "+1\u{2011}555\u{a0}010/0000", "+15550100000"),
        (Sms, "0049 170 1234567", "+491701234567"),
        (Sms, "+44 (0)20 7946 0000", "+442079460000"),
        (Sms, "447911123456", "+447911123456"),
        // A number that some country has without its code is nobody's to complete.
        (Sms, "5550100000", "5550100000"),
        (Sms, "(555) 010-0000", "5550100000"),
        (Sms, "15550100000", "15550100000"),
        (Sms, "01701234567", "01701234567"),
        (Whatsapp, "15550100000", "+15550100000"),
        (Whatsapp, "491701234567", "+491701234567"),
        (Voice, "+1 555 010 0000", "+15550100000"),
        (Voice, "1000-2", "1000-2"),
        (Voice, "447911123456", "447911123456"),
        // Short codes, and senders with letters.
        (Sms, "12345", "12345"),
        (Sms, "ROOMKIT", "ROOMKIT"),
        (Sms, "Bank 24", "Bank 24"),
        (Sms, "+1", "+1"),
        (Sms, "+1234567890123456", "+1234567890123456"),
        (Sms, "+0123456789", "+0123456789"),
        (Sms, "++15550100000", "++15550100000"),
        (Sms, "", ""),
        // Brazil: mobiles have nine digits now, landlines eight.
        (Sms, "+55 11 91234-5678", "+5511912345678"),
        (Sms, "551112345678", "+5511912345678"),
        (Sms, "+55 11 9876-5432", "+5511998765432"),
        (Whatsapp, "551198765432", "+5511998765432"),
        (Sms, "+55 11 3456-7890", "+551134567890"),
        (Sms, "+55 80 9123-4567", "+558091234567"),
        // Mexico: no 1 before the ten digits any more.
        (Sms, "+52 1 55 1234 5678", "+525512345678"),
        (Whatsapp, "5215512345678", "+525512345678"),
        (Sms, "+52 55 1234 5678", "+525512345678"),
        // Argentina: with and without the 9 may be one line, and may not be written as one.
        (Whatsapp, "5491123456789", "+5491123456789"),
        (Sms, "+54 11 2345-6789", "+541123456789"),
        (Email, "Alice@X.Example", "alice@x.example"),
        (Email, " Alice <ALICE@x.example> ", "alice@x.example"),
        (Email, "alice@x.example", "alice@x.example"),
        (Email, "<>", ""),
        // An id means something to its provider alone.
        (Messenger, "1234567890123456", "1234567890123456"),
        (Messenger, "447911123456", "447911123456"),
        (Websocket, "User 7", "User 7"),
        (Websocket, "Alice@X.example", "Alice@X.example"),
    ];
    for (channel_type, address, expected) in cases {
        let canonical = DefaultAddressNormalizer.canonical(channel_type, address);
        assert_eq!(canonical, *expected, "{channel_type} {address}");
        if address == expected {
            assert!(matches!(canonical, Cow::Borrowed(_)), "{address}");
        }
    }
}

#[test]
fn what_may_be_one_line_and_may_be_two_is_a_variant() {
    let cases: &[(ChannelType, &str, &[&str])] = &[
        (Sms, "+5491123456789", &["+541123456789"]),
        (Sms, "+541123456789", &["+5491123456789"]),
        (Sms, "15550100000", &["+15550100000"]),
        (Sms, "+15550100000", &[]),
        (Sms, "+5400-  -00--", &[]),
        (Sms, "12345", &[]),
        (Sms, "ROOMKIT", &[]),
        (Email, "alice@x.example", &[]),
        (Websocket, "15550100000", &[]),
    ];
    for (channel_type, address, expected) in cases {
        let variants = DefaultAddressNormalizer.variants(channel_type, address);
        assert_eq!(variants, *expected, "{channel_type} {address}");
    }
}

proptest! {
    #[test]
    fn a_canonical_address_is_its_own_canonical_form(
        address in prop_oneof![
            "[+0-9 ().-]{0,24}",
            "(\\+?(52|54|55|00))[0-9 -]{6,14}",
            "tel:\\+[0-9 ]{0,20}",
            "[A-Za-z<>@. ]{0,20}",
            any::<String>(),
        ],
        kind in prop::sample::select(ChannelType::KNOWN.to_vec()),
    ) {
        let once = DefaultAddressNormalizer.canonical(&kind, &address).into_owned();
        let twice = DefaultAddressNormalizer.canonical(&kind, &once).into_owned();
        prop_assert_eq!(&twice, &once);
        for variant in DefaultAddressNormalizer.variants(&kind, &once) {
            let canonical = DefaultAddressNormalizer.canonical(&kind, &variant);
            prop_assert_eq!(canonical, &*variant);
        }
    }
}

async fn kit_with(identities: &[(&str, &str)]) -> RoomKit {
    let kit = RoomKit::builder().stored_identities().build().unwrap();
    for (channel, kind) in [("sms", Sms), ("wa", Whatsapp), ("mail", Email)] {
        kit.register_channel(Transport::new(channel).of_type(kind))
            .unwrap();
    }
    for (id, address) in identities {
        kit.save_identity(Identity::new(*id)).await.unwrap();
        kit.link_address(*id, Sms, address).await.unwrap();
    }
    kit
}

async fn rooms(kit: &Rooms) -> usize {
    let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    rooms.unwrap().len()
}

#[tokio::test]
async fn one_sender_is_one_person_in_one_conversation_however_the_number_is_written() {
    let kit = kit_with(&[]).await;
    let spellings = ["+55 11 91234-5678", "551112345678", "+5511912345678"];
    for spelling in spellings {
        let message = InboundMessage::text("sms", spelling, "hi");
        kit.process_inbound(message).await.unwrap();
    }
    assert_eq!(rooms(&kit).await, 1);
    let listed = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    let room = listed.unwrap()[0].id.clone();
    let people = kit.participants(&room).await.unwrap();
    let ids: Vec<_> = people.iter().map(|one| one.id.clone()).collect();
    assert_eq!(ids, ["+5511912345678"].map(ParticipantId::from));
    assert_eq!(
        kit.timeline(&room, 0, 9).await.unwrap().len(),
        4,
        "the history is one"
    );
}

#[tokio::test]
async fn first_messages_of_one_sender_in_several_spellings_make_one_room() {
    for _ in 0..20 {
        let kit = kit_with(&[]).await;
        let spellings = ["+1 (555) 010-0000", "+15550100000", "0015550100000"];
        let all = spellings.map(|spelling| {
            let kit = kit.clone();
            tokio::spawn(async move {
                let message = InboundMessage::text("sms", spelling, "hi");
                kit.process_inbound(message).await.unwrap()
            })
        });
        for one in all {
            one.await.unwrap();
        }
        assert_eq!(rooms(&kit).await, 1);
    }
}

#[tokio::test]
async fn a_person_is_found_by_their_number_however_either_of_them_is_written() {
    let kit = kit_with(&[("ana", "+55 11 91234-5678")]).await;
    let said = kit.process_inbound(say("sms", "551112345678", "oi")).await;
    let source = said.unwrap().event.unwrap().source.clone();
    assert_eq!(source.participant_id, Some("ana".into()));
}

#[tokio::test]
async fn who_may_be_the_sender_by_a_variant_is_asked_about_and_not_taken_for_them() {
    for (stored, from) in [
        ("+54 9 11 2345-6789", "+541123456789"),
        ("+541123456789", "+5491123456789"),
        ("+15550100000", "1 555 010 0000"),
    ] {
        let kit = kit_with(&[("eva", stored)]).await;
        let said = kit.process_inbound(say("sms", from, "hola")).await.unwrap();
        let id = said.event.unwrap().source.participant_id.clone().unwrap();
        let person = kit.participant("r", id).await.unwrap();
        assert_eq!(
            person.identification,
            IdentificationStatus::Ambiguous,
            "{from}"
        );
        assert_eq!(person.candidates.unwrap(), ["eva"]);
    }
}

#[tokio::test]
async fn an_address_of_two_people_is_ambiguous() {
    let kit = kit_with(&[("jean", "+15551234567"), ("marie", "+1 555 123 4567")]).await;
    kit.process_inbound(say("sms", "+15551234567", "hi"))
        .await
        .unwrap();
    let person = kit.participant("r", "+15551234567").await.unwrap();
    assert_eq!(person.identification, IdentificationStatus::Ambiguous);
    assert_eq!(person.candidates.unwrap(), ["jean", "marie"]);
    kit.resolve_participant("r", "+15551234567", "marie")
        .await
        .unwrap();
    let said = kit
        .process_inbound(say("sms", "+1 555 123 4567", "me"))
        .await;
    let id = said.unwrap().event.unwrap().source.participant_id.clone();
    assert_eq!(
        id,
        Some("+15551234567".into()),
        "known in this room by hand"
    );
}

#[tokio::test]
async fn addresses_that_are_linked_side_by_side_are_all_kept() {
    let kit = kit_with(&[]).await;
    kit.save_identity(Identity::new("ana")).await.unwrap();
    let links = (0..32).map(|number| {
        let kit = kit.clone();
        tokio::spawn(async move {
            let address = format!("+1 555 010 {:04}", number / 2);
            kit.link_address("ana", Sms, &address).await.unwrap();
        })
    });
    for link in links.collect::<Vec<_>>() {
        link.await.unwrap();
    }
    let ana = kit.identity("ana").await.unwrap();
    assert_eq!(ana.channel_addresses["sms"].len(), 16);
}

#[tokio::test]
async fn an_identity_is_stored_with_canonical_addresses_or_not_at_all() {
    let kit = RoomKit::new();
    let acme = kit.org("acme");
    let mut ana = Identity::new("ana");
    let sms = ["+1 (555) 010-0000", "+15550100000"].map(str::to_owned);
    ana.channel_addresses.insert("sms".to_owned(), sms.into());
    let mail = ["Ana@X.example".to_owned()];
    ana.channel_addresses
        .insert("email".to_owned(), mail.into());
    let stored = acme.save_identity(ana.clone()).await.unwrap();
    assert_eq!(stored.channel_addresses["sms"], ["+15550100000"]);
    assert_eq!(stored.channel_addresses["email"], ["ana@x.example"]);
    assert_eq!(stored.organization_id, Some("acme".into()));
    assert_eq!(acme.identity("ana").await.unwrap(), stored);

    let wrong = |change: &dyn Fn(&mut Identity)| {
        let mut wrong = ana.clone();
        change(&mut wrong);
        acme.save_identity(wrong)
    };
    let problems = [
        (wrong(&|it| it.id = " ".into()).await, "id: "),
        (
            wrong(&|it| it.organization_id = Some("other".into())).await,
            "organization_id: ",
        ),
        (
            wrong(&|it| {
                it.channel_addresses.insert("pigeon".to_owned(), Vec::new());
            })
            .await,
            "channel_addresses.pigeon: ",
        ),
        (
            wrong(&|it| {
                it.channel_addresses
                    .insert("email".to_owned(), vec!["<>".to_owned()]);
            })
            .await,
            "channel_addresses.email: ",
        ),
    ];
    for (result, field) in problems {
        let error = result.unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().starts_with(field), "{error}");
    }
    let blank = acme.link_address("ana", Sms, " ").await.unwrap_err();
    assert_eq!(blank.code(), "invalid_input");
    let blank = acme.identities_by_address(Email, "<>").await.unwrap_err();
    assert_eq!(blank.code(), "invalid_input");
    let gone = acme.link_address("nobody", Sms, "+15550100001").await;
    assert_eq!(gone.unwrap_err().code(), "identity_not_found");
    assert_eq!(
        acme.identity("ana").await.unwrap(),
        stored,
        "nothing was stored"
    );
}

/// Knows extensions of a house, and that the desk may answer with or without its prefix.
#[derive(Debug)]
struct House;

impl AddressNormalizer for House {
    fn canonical<'a>(&self, _: &ChannelType, address: &'a str) -> Cow<'a, str> {
        match address.strip_prefix("ext-") {
            Some(extension) => Cow::Borrowed(extension),
            None => Cow::Borrowed(address),
        }
    }

    fn variants(&self, _: &ChannelType, address: &str) -> Vec<String> {
        (0..1_000)
            .map(|number| format!("{number}{address}"))
            .collect()
    }
}

#[tokio::test]
async fn an_application_has_its_own_idea_of_addresses() {
    let store = Arc::new(MemoryStore::new());
    let resolver = StoredIdentities::new(store.clone()).addresses(Arc::new(House));
    let kit = RoomKit::builder()
        .store(store)
        .identity(Arc::new(resolver.clone()))
        .addresses(Arc::new(House))
        .build()
        .unwrap();
    kit.register_channel(Transport::new("pbx").of_type(Voice))
        .unwrap();
    for (id, address) in [("ana", "ext-12"), ("near", "712"), ("far", "912")] {
        kit.save_identity(Identity::new(id)).await.unwrap();
        kit.link_address(id, Voice, address).await.unwrap();
    }
    let said = kit
        .process_inbound(say("pbx", "ext-12", "hi"))
        .await
        .unwrap();
    let id = said.event.unwrap().source.participant_id.clone();
    // A borrowed form is a form too: the sender is known by what the store has.
    assert_eq!(id, Some("ana".into()));
    let found = resolver.find(None, &Voice, "12").await.unwrap();
    assert_eq!(found.identity.unwrap().id, "ana");
    kit.save_identity(Identity::new("ana")).await.unwrap();
    let found = resolver.find(None, &Voice, "ext-12").await.unwrap();
    let ids: Vec<_> = found.candidates.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["near"], "eight variants and no more");
    assert_eq!(found.address.as_deref(), Some("12"));
}
