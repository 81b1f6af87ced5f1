//! The small enumerations of the model.

use super::string_enum::string_enum;

string_enum! {
    /// Whether a channel reaches people or thinks by itself (RFC §4.2).
    #[derive(Default)]
    pub enum ChannelCategory: "channel category" {
        /// It carries messages to and from people. The default.
        #[default]
        Transport = "transport",
        /// It reacts to events: an AI agent, a classifier.
        Intelligence = "intelligence",
    }
}

string_enum! {
    /// Which way messages go through a channel (RFC §5.7).
    pub enum ChannelDirection: "channel direction" {
        /// Into the room.
        Inbound = "inbound",
        /// Out of the room.
        Outbound = "outbound",
        /// Both ways.
        Bidirectional = "bidirectional",
    }
}

string_enum! {
    /// A kind of content that a channel can carry (RFC §5.8).
    pub enum ChannelMediaType: "channel media type" {
        /// Plain text.
        Text = "text",
        /// Formatted text with buttons, cards or quick replies.
        Rich = "rich",
        /// Images, documents and other files.
        Media = "media",
        /// Audio messages.
        Audio = "audio",
        /// Video messages.
        Video = "video",
        /// Geographic coordinates.
        Location = "location",
        /// Message templates approved beforehand.
        Template = "template",
    }
}

string_enum! {
    /// What became of an event (RFC §5.2).
    #[derive(Default)]
    pub enum EventStatus: "event status" {
        /// Made, and not yet committed. The default.
        #[default]
        Pending = "pending",
        /// Accepted into the timeline.
        Delivered = "delivered",
        /// Read by its recipient.
        Read = "read",
        /// Not delivered in spite of every retry.
        Failed = "failed",
        /// Stopped by a hook or by a permission, and kept as a record.
        Blocked = "blocked",
    }
}

string_enum! {
    /// Whether a channel may read and write in a room (RFC §7.1).
    #[derive(Default)]
    pub enum Access: "access" {
        /// Takes part fully. The default.
        #[default]
        ReadWrite = "read_write",
        /// Hears and may not speak.
        ReadOnly = "read_only",
        /// Speaks and does not hear.
        WriteOnly = "write_only",
        /// Neither hears nor speaks.
        None = "none",
    }
}

impl Access {
    /// Whether events reach the channel.
    pub const fn can_read(self) -> bool {
        matches!(self, Self::ReadWrite | Self::ReadOnly)
    }

    /// Whether the channel's events are accepted.
    pub const fn can_write(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteOnly)
    }
}

string_enum! {
    /// Which agents a message of another agent asks to act (RFC §19.3.1).
    #[derive(Default)]
    pub enum AgentResponsePolicy: "agent response policy" {
        /// Every agent of the room, as deep as the chain may go. The default.
        #[default]
        AgentChain = "agent_chain",
        /// Only the agents that it addresses.
        AddressedOnly = "addressed_only",
    }
}

string_enum! {
    /// How far it is known who a participant is (RFC §5.5).
    #[derive(Default)]
    pub enum IdentificationStatus: "identification status" {
        /// The identity is known.
        Identified = "identified",
        /// Not resolved yet. The default.
        #[default]
        Pending = "pending",
        /// Several identities fit.
        Ambiguous = "ambiguous",
        /// No identity fits.
        Unknown = "unknown",
        /// The sender was asked to prove who they are.
        ChallengeSent = "challenge_sent",
        /// The proof failed, or the sender is refused.
        Rejected = "rejected",
    }
}

string_enum! {
    /// What a participant is in a room (RFC §5.5).
    #[derive(Default)]
    pub enum ParticipantRole: "participant role" {
        /// Made the room or answers for it.
        Owner = "owner",
        /// A person who serves others: an advisor, a support agent.
        Agent = "agent",
        /// Takes part. The default.
        #[default]
        Member = "member",
        /// Only watches.
        Observer = "observer",
        /// A program.
        Bot = "bot",
    }
}

string_enum! {
    /// Whether a participant is there (RFC §5.5).
    #[derive(Default)]
    pub enum ParticipantStatus: "participant status" {
        /// Takes part. The default.
        #[default]
        Active = "active",
        /// Has done nothing lately.
        Inactive = "inactive",
        /// Has left.
        Left = "left",
        /// Was removed and may not come back.
        Banned = "banned",
    }
}

string_enum! {
    /// How far a task is (RFC §5.10).
    #[derive(Default)]
    pub enum TaskStatus: "task status" {
        /// Not begun. The default.
        #[default]
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Could not be done.
        Failed = "failed",
        /// Called off.
        Cancelled = "cancelled",
    }
}

string_enum! {
    /// Where a room is in its life (RFC §5.1).
    #[derive(Default)]
    pub enum RoomStatus: "room status" {
        /// In use. The default.
        #[default]
        Active = "active",
        /// Quiet for a while; the next event makes it active again.
        Paused = "paused",
        /// Over; it can be opened again.
        Closed = "closed",
        /// Kept for reading only.
        Archived = "archived",
    }
}

impl RoomStatus {
    /// Whether the room's timeline may grow.
    pub const fn accepts_events(self) -> bool {
        matches!(self, Self::Active | Self::Paused)
    }
}

string_enum! {
    /// Which recipients of a channel get a message (RFC §5.8).
    #[derive(Default)]
    pub enum DeliveryMode: "delivery mode" {
        /// All of them. The default.
        #[default]
        Broadcast = "broadcast",
        /// The one it is meant for.
        Direct = "direct",
        /// One of them, each in turn.
        RoundRobin = "round_robin",
    }
}

string_enum! {
    /// On whose authority a message is deleted (RFC §5.3, §10.3).
    #[derive(Default)]
    pub enum DeleteType: "delete type" {
        /// Its author's. The default.
        #[default]
        Sender = "sender",
        /// A program's, such as moderation: events that the application sends as `system`.
        System = "system",
        /// An administrator's: a participant whose role in the room is owner.
        Admin = "admin",
    }
}

string_enum! {
    /// The markup of rich text.
    #[derive(Default)]
    pub enum RichFormat: "rich format" {
        /// Markdown. The default.
        #[default]
        Markdown = "markdown",
        /// HTML.
        Html = "html",
    }
}

string_enum! {
    /// How far a tool call is.
    #[derive(Default)]
    pub enum ToolCallStatus: "tool call status" {
        /// Running. The default.
        #[default]
        Pending = "pending",
        /// Returned a result.
        Completed = "completed",
        /// Ended with an error.
        Failed = "failed",
    }
}

string_enum! {
    /// Which way a traced protocol message went (RFC §5.14).
    pub enum TraceDirection: "trace direction" {
        /// Received.
        Inbound = "inbound",
        /// Sent.
        Outbound = "outbound",
    }
}

string_enum! {
    /// What the length limit of a channel counts.
    #[derive(Default)]
    pub enum LengthUnit: "length unit" {
        /// Unicode scalar values. The default.
        #[default]
        Characters = "characters",
        /// UTF-16 code units.
        Utf16 = "utf16",
        /// Bytes of UTF-8.
        Bytes = "bytes",
        /// Septets of the GSM 7-bit alphabet while the text has no other character, else UTF-16
        /// code units: what an SMS counts. A limit is compared with whichever of the two it has.
        Gsm7 = "gsm7",
    }
}

string_enum! {
    /// What becomes of a text that is too long for a channel.
    #[derive(Default)]
    pub enum Overflow: "overflow" {
        /// It is cut between graphemes, with `...` behind it. The default.
        #[default]
        Truncate = "truncate",
        /// The channel splits it into several messages: it is given the whole text.
        Split = "split",
    }
}
