//! Command groups in SYCL's form: a closure that describes one action and what it waits for.

use super::command::{Command, CommandKind};
use super::name::Name;
use crate::MakeError as _;
use crate::handles::Handles;
use crate::{Error, Event, Result};

/// Describes one command inside [`Queue::submit_with`](crate::Queue::submit_with), after SYCL's
/// `handler`.
#[derive(Debug, Default)]
pub struct Handler {
    action: Option<CommandKind>,
    name: Option<Name>,
    actions: usize,
    after: Vec<Event>,
}

impl Handler {
    /// The command waits for events (SYCL's `depends_on`).
    pub fn after<'a>(&mut self, events: impl Handles<'a, Event>) {
        self.after.extend(events.handles().cloned());
    }

    /// The action: a command, the dependencies of which join those given here. A command group has
    /// one.
    pub fn run(&mut self, command: Command) {
        self.name = command.name().cloned();
        let (kind, after) = command.into_parts();
        self.action = Some(kind);
        self.actions += 1;
        self.after.extend(after);
    }

    /// The command that was described; an empty one when there was no action.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for several actions.
    pub(crate) fn into_command(self) -> Result<Command> {
        if self.actions > 1 {
            return Err(Error::invalid(format!("a command group with {} actions", self.actions))
                .remedy("submit a command group for each"));
        }
        Ok(Command::from_parts(self.action.unwrap_or(CommandKind::Empty), self.after).with_name(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_group_has_one_action() {
        let mut handler = Handler::default();
        assert!(matches!(Handler::default().into_command().unwrap().into_parts().0, CommandKind::Empty));
        handler.run(Command::barrier());
        assert!(matches!(
            Handler { action: handler.action.clone(), ..Handler::default() }
                .into_command()
                .unwrap()
                .into_parts()
                .0,
            CommandKind::Barrier
        ));
        handler.run(Command::marker());
        assert_eq!(handler.into_command().unwrap_err().kind(), ErrorKind::Invalid);
    }
}
