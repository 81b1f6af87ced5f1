//! Who sends what: people whom the kit knows by their numbers, and a stranger who has to say who they are.

use std::io::Write;

use roomkit::prelude::*;
use roomkit::websocket::Connection;
use roomkit_testkit::MockChannel;

use crate::{Outcome, inbox};

const ROOM: &str = "billing";

/// The customers of the shop, and the numbers of which it knows that they are theirs.
const CUSTOMERS: [(&str, &str, &[&str]); 4] = [
    ("c-100", "Alice", &["+1 (555) 010-0001"]),
    ("c-200", "Bob", &[]),
    ("c-300", "Jean", &["+1 555 010 0009"]),
    ("c-301", "Marie", &["+1 555 010 0009"]),
];

/// Runs the example.
///
/// # Errors
/// Where the kit or `out` fails.
pub async fn run(out: &mut impl Write) -> Outcome {
    // The kit looks for senders among the identities in its store.
    let kit = RoomKit::builder().stored_identities().build()?;
    let shop = kit.org("shop");
    for (id, name, numbers) in CUSTOMERS {
        let mut customer = Identity::new(id);
        customer.display_name = Some(name.to_owned());
        shop.save_identity(customer).await?;
        for number in numbers {
            shop.link_address(id, ChannelType::Sms, number).await?;
        }
    }

    // Stands for a provider of text messages, and keeps what it was given to send.
    let sms = MockChannel::builder("sms")
        .channel_type(ChannelType::Sms)
        .build();
    let desk = WebSocketChannel::new("desk");
    kit.register_channel(sms.clone())?;
    kit.register_channel(desk.clone())?;
    shop.create_room(ROOM).await?;
    shop.attach_channel(ROOM, "sms").await?;
    shop.attach_channel(ROOM, "desk").await?;
    let mut screen = desk.connect("screen", ROOM);
    ask_strangers(&kit);

    for (number, text) in [
        // However a number is written, it is one number.
        ("+1-555-010-0001", "When does it ship?"),
        ("+1 555 010 0004", "My invoice, please"),
        ("+1 555 010 0004", "Is anybody there?"),
        ("+1 555 010 0004", "c-200"),
        ("+1-555-010-0004", "My invoice, please"),
        // A phone of two people: the message is taken, and nobody is taken for the other.
        ("+1 555 010 0009", "And mine?"),
    ] {
        let message = InboundMessage::text("sms", number, text).in_room(ROOM);
        let result = shop.process_inbound(message).await?;
        report(out, number, text, &result, &sms, &mut screen)?;
    }

    // The desk has asked who it was.
    shop.resolve_participant(ROOM, "+15550100009", "c-301")
        .await?;
    writeln!(out, "in the room:")?;
    for person in shop.participants(ROOM).await? {
        let name = person.display_name.as_deref().unwrap_or("somebody");
        let by = person.resolved_by.as_deref().unwrap_or("nobody");
        writeln!(
            out,
            "  {}: {name}, {}, told by {by}",
            person.id, person.identification
        )?;
    }
    Ok(())
}

/// Holds back what strangers say until they have named a customer; the number is that customer's
/// from then on. A shop would send a code to an address that it knows.
fn ask_strangers(kit: &RoomKit) {
    let kit_of_hook = kit.downgrade();
    kit.hook(OnIdentityUnknown, "customer_number", move |case, room| {
        let kit = kit_of_hook.upgrade();
        async move {
            let (Some(kit), Some(number), Some(over), Some(shop)) = (
                kit,
                case.event.text(),
                room.arrived_over(),
                room.room().organization_id.clone(),
            ) else {
                return Err("asked outside of a shop");
            };
            let address = case.result.address.as_deref().unwrap_or_default();
            let shop = kit.org(shop);
            let linked = shop.link_address(number, over.clone(), address);
            let decision = match linked.await {
                Ok(customer) => IdentityDecision::Resolved(customer),
                Err(_nobody) => {
                    let question = EventContent::text("Hello! What is your customer number?");
                    let sender = case.event.source.channel_id.clone();
                    IdentityDecision::Challenge(InjectedEvent::new(question, [sender]))
                }
            };
            Ok(Some(decision))
        }
    });
}

fn report(
    out: &mut impl Write,
    number: &str,
    text: &str,
    result: &InboundResult,
    sms: &MockChannel,
    screen: &mut Connection,
) -> Outcome {
    writeln!(out, "{number} writes '{text}'")?;
    if let Some(event) = &result.event {
        let who = event
            .source
            .participant_id
            .as_ref()
            .map(ToString::to_string);
        writeln!(
            out,
            "  taken as that of {}",
            who.as_deref().unwrap_or("nobody")
        )?;
    }
    if let Some(reason) = &result.reason {
        writeln!(out, "  held back: {reason}")?;
        if let Some(told) = sms.deliveries().last() {
            writeln!(
                out,
                "  is asked '{}'",
                told.event.text().unwrap_or_default()
            )?;
        }
    }
    for line in inbox(screen) {
        writeln!(out, "  desk hears {line}")?;
    }
    Ok(())
}
