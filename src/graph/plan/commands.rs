//! The commands of a flat graph, with the values that were committed last.
//!
//! While only values of its parameters have changed, a node of an executable shares its command
//! with the graph. Such values are kept beside the command: cloning a command for each of a
//! thousand nodes would be most of an update. What is prepared for a node is made from both, and
//! never read back.

use std::borrow::Cow;
use std::sync::Arc;

use super::memory::Memory;
use crate::command::{Argument, Binding, CommandKind, Follows, Parameter, Value, newest_of};
use crate::range::NdRange;

/// The commands of a flat graph, by node.
pub(in crate::graph) struct Commands {
    all: Vec<FlatCommand>,
    memory: Memory,
}

struct FlatCommand {
    command: Arc<CommandKind>,
    /// With the memory that the memory of graphs in it stands for.
    located: Option<Arc<CommandKind>>,
    follows: Follows,
    /// Arguments that have other values than in the command, by number.
    values: Box<[(u32, Value)]>,
}

impl Commands {
    /// Commands with the memory of graphs that they use.
    ///
    /// # Errors
    /// With the place of the command that uses other memory of graphs.
    pub(in crate::graph) fn new(
        commands: Vec<Arc<CommandKind>>,
        memory: Memory,
    ) -> Result<Self, (usize, crate::Error)> {
        let mut all = Vec::with_capacity(commands.len());
        for (at, command) in commands.into_iter().enumerate() {
            let located = memory.locate(&command).map_err(|error| (at, error))?;
            all.push(FlatCommand::new(command, located));
        }
        Ok(Self { all, memory })
    }

    /// The memory of graphs that the commands may use.
    pub(in crate::graph) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The command of a node, with memory that is there.
    pub(in crate::graph) fn get(&self, node: usize) -> Option<Cow<'_, Arc<CommandKind>>> {
        let own = self.all.get(node)?;
        Some(own.with_values(own.located.as_ref().unwrap_or(&own.command)))
    }

    /// The command of a node, as it is in the graph.
    pub(in crate::graph) fn unlocated(&self, node: usize) -> Option<Cow<'_, Arc<CommandKind>>> {
        let own = self.all.get(node)?;
        Some(own.with_values(&own.command))
    }

    /// The range of a node that is a kernel.
    pub(in crate::graph) fn range(&self, node: usize) -> Option<&NdRange> {
        self.all.get(node)?.command.range()
    }

    /// All of them, with memory that is there. Parameters need not have the values that were committed last.
    pub(in crate::graph) fn without_values(&self) -> impl Iterator<Item = &CommandKind> {
        self.all.iter().map(|own| &**own.located.as_ref().unwrap_or(&own.command))
    }

    /// All of them, with memory that is there.
    pub(in crate::graph) fn to_vec(&self) -> Vec<Arc<CommandKind>> {
        (0..self.all.len()).filter_map(|node| self.get(node)).map(Cow::into_owned).collect()
    }

    /// All of them, as they are in the graph.
    pub(in crate::graph) fn all_unlocated(&self) -> Vec<Arc<CommandKind>> {
        (0..self.all.len()).filter_map(|node| self.unlocated(node)).map(Cow::into_owned).collect()
    }

    /// The parts of a node that may have changed if this is its command in the graph; `None` for all.
    pub(in crate::graph) fn shares(&self, node: usize, command: &Arc<CommandKind>) -> Option<Follows> {
        let own = self.all.get(node)?;
        Arc::ptr_eq(&own.command, command).then_some(own.follows)
    }

    /// Gives the arguments of a node that follow parameters the values that these have now. All of
    /// them are [values](Follows::Values).
    pub(in crate::graph) fn follow(&mut self, node: usize, reader: &mut Reader) {
        let Some(FlatCommand { command, values, .. }) = self.all.get_mut(node) else { return };
        let bindings = command.bindings();
        if values.is_empty() {
            *values = values_of(command, bindings);
        }
        for Binding { argument, parameter } in newest_of(bindings) {
            let value = values.iter_mut().find(|(number, _)| *number as usize == *argument);
            if let (Some((_, value)), Some(new)) = (value, reader.value(parameter)) {
                value.clone_from(new);
            }
        }
    }

    /// The values that differ from those in the command that the node shares with the graph, by
    /// number of the argument.
    pub(in crate::graph) fn values(&self, node: usize) -> &[(u32, Value)] {
        self.all.get(node).map_or(&[], |own| &own.values)
    }

    /// Gives a kernel the arguments and the range of another command of it, which is `located` with
    /// memory that is there. Gives the command before if it was replaced. A command whose parameters
    /// are values is shared with the graph from now on. Any other is changed where it is.
    pub(in crate::graph) fn patch(
        &mut self,
        node: usize,
        to: Arc<CommandKind>,
        located: Option<Arc<CommandKind>>,
    ) -> Option<Arc<CommandKind>> {
        let own = self.all.get_mut(node)?;
        if to.follows() == Follows::Values || own.located.is_some() || located.is_some() {
            return self.replace(node, to, located);
        }
        own.values = Box::default();
        Arc::make_mut(&mut own.command).patch(&to);
        None
    }

    /// Puts another command in the place of one, and gives the one before. It is `located` with memory
    /// that is there.
    pub(in crate::graph) fn replace(
        &mut self,
        node: usize,
        command: Arc<CommandKind>,
        located: Option<Arc<CommandKind>>,
    ) -> Option<Arc<CommandKind>> {
        let own = self.all.get_mut(node)?;
        Some(std::mem::replace(own, FlatCommand::new(command, located)).command)
    }
}

impl FlatCommand {
    fn new(command: Arc<CommandKind>, located: Option<Arc<CommandKind>>) -> Self {
        Self { follows: command.follows(), command, located, values: Box::default() }
    }

    fn with_values<'a>(&self, command: &'a Arc<CommandKind>) -> Cow<'a, Arc<CommandKind>> {
        if self.values.is_empty() {
            return Cow::Borrowed(command);
        }
        let mut own = CommandKind::clone(command);
        self.values.iter().for_each(|(argument, value)| own.set_value(*argument as usize, value.bytes()));
        Cow::Owned(Arc::new(own))
    }
}

/// The arguments of a command that follow parameters, each once.
fn values_of(command: &CommandKind, bindings: &[Binding]) -> Box<[(u32, Value)]> {
    let mut arguments: Vec<usize> = bindings.iter().map(|binding| binding.argument).collect();
    arguments.sort_unstable();
    arguments.dedup();
    let value = |argument: usize| match command.arguments().get(argument)? {
        Argument::Value(value) => Some((argument as u32, value.clone())),
        _ => None,
    };
    arguments.into_iter().filter_map(value).collect()
}

/// Reads parameters. Each is locked once for all nodes in a row that follow it.
#[derive(Default)]
pub(in crate::graph) struct Reader(Option<(u64, Option<Value>)>);

impl Reader {
    fn value(&mut self, parameter: &Parameter) -> Option<&Value> {
        if self.0.as_ref().is_none_or(|(last, _)| *last != parameter.id()) {
            let value = match &*parameter.current() {
                Argument::Value(value) => Some(value.clone()),
                _ => None,
            };
            self.0 = Some((parameter.id(), value));
        }
        self.0.as_ref().and_then(|(_, value)| value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Given, KernelCall};
    use crate::image::{ImageTable, Kernel};
    use crate::range::NdRange;

    static TABLE: ImageTable = ImageTable::generated("t", &[]);
    static KERNEL: Kernel = Kernel::new(&TABLE, "k");

    struct Follow(Arc<Parameter>);
    impl crate::command::KernelValue<u32> for Follow {
        fn given(self) -> Given {
            Given::following(vec![self.0])
        }
    }

    fn kernel(parameter: &Arc<Parameter>) -> Arc<CommandKind> {
        let call = KernelCall::new(&KERNEL).value(1_u8).value::<u32>(Follow(Arc::clone(parameter)));
        Arc::new(CommandKind::Kernel { range: NdRange::from(4), call })
    }

    fn value(command: &CommandKind) -> &[u8] {
        match command.arguments() {
            [_, Argument::Value(value)] => value.bytes(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_those_of_the_last_commit_and_the_command_stays_shared() {
        let number = |n: u32| Argument::Value(Value::new(&n));
        let parameter = Arc::new(Parameter::new(0, number(2)));
        let shared = kernel(&parameter);
        let mut commands = Commands::new(vec![Arc::clone(&shared)], Memory::default()).ok().unwrap();
        assert!(commands.values(0).is_empty());
        parameter.set(number(3));
        assert_eq!(value(&commands.get(0).unwrap()), 2_u32.to_ne_bytes());
        commands.follow(0, &mut Reader::default());
        assert_eq!(value(&commands.get(0).unwrap()), 3_u32.to_ne_bytes());
        assert_eq!(commands.shares(0, &shared), Some(Follows::Values));
        assert!(matches!(commands.values(0), [(1, _)]));
        let other = kernel(&parameter);
        assert!(
            commands.patch(0, Arc::clone(&other), None).is_some_and(|before| Arc::ptr_eq(&before, &shared))
        );
        assert!(Arc::ptr_eq(&commands.get(0).unwrap(), &other));
    }
}
