//! Reads a module of LLVM IR from its text.
//!
//! Unknown attributes, flags and metadata are hints and are skipped, so that the text of a new
//! rustc can be read. An unknown instruction is kept by its name: it is an error if a kernel
//! reaches it.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::floats::bits;
use super::lexer::{Lexer, Token, integer};
use super::metadata::Node;
use super::tree::{
    AtomicOp, Binary, Block, BlockIndex, Callee, Cast, Constant, Expression, FloatPredicate, Function,
    Global, Instruction, IntPredicate, Kind, Local, Module, Operand, Ordering, Type, Typed,
};
use crate::{Error, Result};

/// Types and constants may nest so deep.
const DEEPEST: u32 = 100;

/// Reads a module. `name` is for messages.
pub(crate) fn parse(name: &str, text: &str) -> Result<Module> {
    let mut parser = Parser::new(name, text);
    parser.types = named_types(name, text);
    parser.module()?;
    parser.add_aliases();
    Ok(parser.module)
}

/// The types with names, which may be used before they are defined.
fn named_types(name: &str, text: &str) -> BTreeMap<String, Type> {
    let mut types = BTreeMap::new();
    let mut waiting: Vec<&str> =
        text.lines().filter(|line| line.starts_with('%') && line.contains(" = type ")).collect();
    for _ in 0..DEEPEST {
        let before = waiting.len();
        waiting.retain(|line| {
            let mut parser = Parser::new(name, line);
            parser.types = std::mem::take(&mut types);
            let done = parser.named_type().is_ok();
            types = parser.types;
            !done
        });
        if waiting.len() == before {
            break;
        }
    }
    types
}

struct Parser<'t> {
    name: &'t str,
    lexer: Lexer<'t>,
    /// The next token, its line, and the line of the one before it.
    token: Token<'t>,
    line: u32,
    previous: u32,
    types: BTreeMap<String, Type>,
    /// Other names, and what they are names of.
    aliases: Vec<[Rc<str>; 2]>,
    module: Module,
    depth: u32,
    // Of the function that is being read.
    locals: BTreeMap<String, Local>,
    blocks: BTreeMap<String, BlockIndex>,
    next_local: u32,
    next_block: u32,
    /// The number of the next value or block without a name.
    unnamed: u64,
}

type Parsed<T> = Result<T>;

impl<'t> Parser<'t> {
    fn new(name: &'t str, text: &'t str) -> Self {
        let mut lexer = Lexer::new(text);
        let (token, line) = lexer.next();
        Self {
            name,
            lexer,
            token,
            line,
            previous: 0,
            types: BTreeMap::new(),
            aliases: Vec::new(),
            module: Module::default(),
            depth: 0,
            locals: BTreeMap::new(),
            blocks: BTreeMap::new(),
            next_local: 0,
            next_block: 0,
            unnamed: 0,
        }
    }

    // Tokens.

    fn advance(&mut self) -> Token<'t> {
        let (token, line) = self.lexer.next();
        self.previous = self.line;
        self.line = line;
        std::mem::replace(&mut self.token, token)
    }

    fn error<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(Error::Syntax { module: self.name.to_owned(), line: self.line, what: what.into() })
    }

    fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        self.error(format!("{wanted} was expected, not {:?}", self.token))
    }

    fn is(&self, symbol: char) -> bool {
        self.token == Token::Symbol(symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(found) if found == word)
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: char) -> Parsed<()> {
        if self.eat(symbol) { Ok(()) } else { self.unexpected(&format!("`{symbol}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    fn integer(&mut self) -> Parsed<u128> {
        match self.token {
            Token::Integer(text) => match integer(text) {
                Some(value) => {
                    self.advance();
                    Ok(value)
                }
                None => self.error(format!("the number {text} has more than 128 bits")),
            },
            _ => self.unexpected("a number"),
        }
    }

    fn count(&mut self) -> Parsed<u64> {
        let value = self.integer()?;
        u64::try_from(value).or_else(|_| self.error("the number is too large"))
    }

    /// Skips the rest of the line of the token before.
    fn skip_line(&mut self, line: u32) {
        while self.line == line && self.token != Token::End {
            self.advance();
        }
    }

    /// Skips from `(` to its `)`.
    fn skip_parentheses(&mut self) -> Parsed<()> {
        let mut depth = 0_u32;
        loop {
            match self.token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                Token::End => return self.unexpected("`)`"),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.error(format!("types or constants nest deeper than {DEEPEST}"))
        } else {
            Ok(())
        }
    }

    // Modules.

    fn module(&mut self) -> Parsed<()> {
        loop {
            let line = self.line;
            match &self.token {
                Token::End => return Ok(()),
                Token::Word("define") => self.function(true)?,
                Token::Word("declare") => self.function(false)?,
                Token::Local(_) => self.named_type()?,
                Token::Global(_) => self.global()?,
                Token::MetadataId(_) => self.metadata()?,
                Token::Word("attributes") => {
                    while !self.is('}') && self.token != Token::End {
                        self.advance();
                    }
                    self.advance();
                }
                // `source_filename`, `target`, comdats, module assembly, use lists.
                _ => self.skip_line(line),
            }
            if self.line == line && self.token != Token::End {
                self.skip_line(line);
            }
        }
    }

    fn named_type(&mut self) -> Parsed<()> {
        let Token::Local(name) = self.advance() else { return self.unexpected("a type's name") };
        self.expect('=')?;
        self.expect_word("type")?;
        let ty = if self.eat_word("opaque") { Type::Other("opaque".into()) } else { self.ty()? };
        self.types.insert(name.into_owned(), ty);
        Ok(())
    }

    fn global(&mut self) -> Parsed<()> {
        let line = self.line;
        let Token::Global(name) = self.advance() else { return self.unexpected("a global's name") };
        let name: Rc<str> = name.as_ref().into();
        self.expect('=')?;
        let (mut is_internal, mut is_external) = (false, false);
        let is_constant = loop {
            match self.token {
                Token::Word("constant") => break true,
                Token::Word("global") => break false,
                Token::Word("alias") => {
                    self.alias(name, line);
                    return Ok(());
                }
                Token::Word("ifunc") | Token::End => {
                    self.skip_line(line);
                    return Ok(());
                }
                Token::Word("private" | "internal") => is_internal = true,
                Token::Word("external" | "extern_weak") => is_external = true,
                Token::Symbol('(') => {
                    self.skip_parentheses()?;
                    continue;
                }
                _ if self.line != line => return self.unexpected("`constant` or `global`"),
                _ => {}
            }
            self.advance();
        };
        self.advance();
        let ty = self.ty()?;
        let value = if is_external { None } else { Some(self.constant(&ty)?) };
        let mut align = 0;
        while self.line == line && self.eat(',') {
            if self.eat_word("align") {
                align = self.count()?;
            } else {
                while self.line == line && !self.is(',') && self.token != Token::End {
                    self.advance();
                }
            }
        }
        let global = Global { name: name.clone(), ty, value, is_constant, is_internal, align };
        self.module.globals.insert(name, Rc::new(global));
        Ok(())
    }

    /// Another name of a function or a variable, which is what the line ends with.
    fn alias(&mut self, name: Rc<str>, line: u32) {
        let mut of = None;
        while self.line == line && self.token != Token::End {
            if let Token::Global(target) = self.advance() {
                of = Some(target.as_ref().into());
            }
        }
        self.aliases.extend(of.map(|of| [name, of]));
    }

    fn add_aliases(&mut self) {
        for [name, of] in std::mem::take(&mut self.aliases) {
            if let Some(function) = self.module.functions.get(&of) {
                let function = Function { name: name.clone(), is_internal: false, ..(**function).clone() };
                self.module.functions.insert(name, Rc::new(function));
            } else if let Some(global) = self.module.globals.get(&of) {
                let global = Global { name: name.clone(), is_internal: false, ..(**global).clone() };
                self.module.globals.insert(name, Rc::new(global));
            }
        }
    }

    /// `!12 = distinct !DILocation(line: 3, …)`.
    fn metadata(&mut self) -> Parsed<()> {
        let line = self.line;
        let Token::MetadataId(id) = self.advance() else { return self.unexpected("metadata") };
        self.eat('=');
        self.eat_word("distinct");
        let kind = match self.token {
            Token::MetadataName(kind) => kind,
            _ => "",
        };
        let is_place = matches!(
            kind,
            "DILocation"
                | "DISubprogram"
                | "DILexicalBlock"
                | "DILexicalBlockFile"
                | "DIFile"
                | "DINamespace"
        );
        if !is_place {
            self.skip_line(line);
            return Ok(());
        }
        let mut node = Node::default();
        while self.line == line && self.token != Token::End {
            let Token::Label(field) = self.advance() else { continue };
            let number = match self.token {
                Token::MetadataId(id) => Some(id),
                Token::Integer(text) => text.parse().ok(),
                _ => None,
            };
            match (field.as_ref(), number) {
                ("line", Some(value)) => node.line = value,
                ("column", Some(value)) => node.column = value,
                ("scope", value) => node.scope = value,
                ("inlinedAt", value) => node.inlined_at = value,
                ("file", value) => node.file = value,
                ("filename", _) => {
                    if let Token::Text(text) = &self.token {
                        node.filename = Some(String::from_utf8_lossy(text).into_owned());
                    }
                }
                _ => {}
            }
        }
        self.module.metadata.insert(id, node);
        Ok(())
    }

    // Types.

    fn starts_type(&self) -> bool {
        match self.token {
            Token::Word(word) => is_type_word(word),
            Token::Local(_) | Token::Symbol('[' | '{' | '<') => true,
            _ => false,
        }
    }

    fn ty(&mut self) -> Parsed<Type> {
        self.deeper()?;
        let ty = self.ty_inside();
        self.depth -= 1;
        ty
    }

    fn ty_inside(&mut self) -> Parsed<Type> {
        let ty = match self.advance() {
            Token::Word("void") => Type::Void,
            Token::Word("half") => Type::Half,
            Token::Word("float") => Type::Float,
            Token::Word("double") => Type::Double,
            Token::Word("ptr") => {
                if self.eat_word("addrspace") {
                    self.skip_parentheses()?;
                }
                Type::Pointer
            }
            Token::Word(word) => match integer_width(word) {
                Some(width) => Type::Int(width),
                None if is_type_word(word) => Type::Other(word.into()),
                None => return self.error(format!("`{word}` is no type")),
            },
            Token::Local(name) => match self.types.get(name.as_ref()) {
                Some(ty) => ty.clone(),
                None => return self.error(format!("the type %{name} is not defined before it is used")),
            },
            Token::Symbol('[') => {
                let count = self.count()?;
                self.expect_word("x")?;
                let element = self.ty()?;
                self.expect(']')?;
                Type::Array(count, Rc::new(element))
            }
            Token::Symbol('{') => self.fields(false)?,
            Token::Symbol('<') => {
                if self.eat('{') {
                    let ty = self.fields(true)?;
                    self.expect('>')?;
                    return Ok(ty);
                }
                if self.eat_word("vscale") {
                    return self.error("vectors of unknown length are not for devices");
                }
                let count = self.count()?;
                self.expect_word("x")?;
                let element = self.ty()?;
                self.expect('>')?;
                Type::Vector(count, Rc::new(element))
            }
            token => return self.error(format!("a type was expected, not {token:?}")),
        };
        Ok(ty)
    }

    /// The fields of a struct, behind its `{`.
    fn fields(&mut self, packed: bool) -> Parsed<Type> {
        let mut fields = Vec::new();
        if !self.is('}') {
            loop {
                fields.push(self.ty()?);
                if !self.eat(',') {
                    break;
                }
            }
        }
        self.expect('}')?;
        Ok(Type::Struct { packed, fields: fields.into() })
    }

    // Constants.

    fn constant(&mut self, ty: &Type) -> Parsed<Constant> {
        self.deeper()?;
        let constant = self.constant_inside(ty);
        self.depth -= 1;
        constant
    }

    fn constant_inside(&mut self, ty: &Type) -> Parsed<Constant> {
        let constant = match self.token.clone() {
            Token::Integer(_) => return Ok(Constant::Int(self.integer()?)),
            Token::Float(text) => match bits(ty, text) {
                Some(bits) => Constant::Float(bits),
                None => return self.error(format!("`{text}` is no number of the type {ty}")),
            },
            Token::Word("true") => Constant::Int(1),
            Token::Word("false") => Constant::Int(0),
            Token::Word("null" | "zeroinitializer" | "none") => Constant::Zero,
            Token::Word("undef" | "poison") => Constant::Undefined,
            Token::Global(name) => Constant::Global(name.as_ref().into()),
            Token::Bytes(bytes) => Constant::Bytes(bytes.into()),
            Token::Word("splat") => {
                self.advance();
                self.expect('(')?;
                let element = self.typed_constant()?;
                self.expect(')')?;
                return Ok(Constant::Splat(Rc::new(element)));
            }
            Token::Symbol('[') => return self.elements(']'),
            Token::Symbol('{') => return self.elements('}'),
            Token::Symbol('<') => {
                self.advance();
                if self.is('{') {
                    let elements = self.elements('}')?;
                    self.expect('>')?;
                    return Ok(elements);
                }
                return self.listed('>');
            }
            Token::Word(word) => return self.expression(word),
            _ => return self.unexpected(&format!("a constant of the type {ty}")),
        };
        self.advance();
        Ok(constant)
    }

    fn typed_constant(&mut self) -> Parsed<(Type, Constant)> {
        let ty = self.ty()?;
        let constant = self.constant(&ty)?;
        Ok((ty, constant))
    }

    /// Elements from an opening bracket to a closing one.
    fn elements(&mut self, end: char) -> Parsed<Constant> {
        self.advance();
        self.listed(end)
    }

    fn listed(&mut self, end: char) -> Parsed<Constant> {
        let mut elements = Vec::new();
        while !self.is(end) {
            elements.push(self.typed_constant()?);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(end)?;
        Ok(Constant::Elements(elements.into()))
    }

    fn expression(&mut self, word: &str) -> Parsed<Constant> {
        self.advance();
        if word == "getelementptr" {
            while !self.is('(') {
                // `inbounds`, `nuw`; `inrange(-16, 24)` ends with its bracket.
                let has_bracket = self.is_word("inrange");
                if self.advance() == Token::End {
                    return self.unexpected("`(`");
                }
                if has_bracket {
                    self.skip_parentheses()?;
                }
            }
            self.advance();
            let element = self.ty()?;
            self.expect(',')?;
            let (_, base) = self.typed_constant()?;
            let mut indices = Vec::new();
            while self.eat(',') {
                indices.push(self.typed_constant()?);
            }
            self.expect(')')?;
            return Ok(Constant::Expression(Rc::new(Expression::Address { element, base, indices })));
        }
        if let Some(cast) = cast(word) {
            while !self.is('(') && self.token != Token::End {
                self.advance();
            }
            self.expect('(')?;
            let (from, value) = self.typed_constant()?;
            self.expect_word("to")?;
            self.ty()?;
            self.expect(')')?;
            return Ok(Constant::Expression(Rc::new(Expression::Cast(cast, from, value))));
        }
        if let Some(op) = binary(word) {
            while !self.is('(') && self.token != Token::End {
                self.advance();
            }
            self.expect('(')?;
            let (ty, left) = self.typed_constant()?;
            self.expect(',')?;
            let (_, right) = self.typed_constant()?;
            self.expect(')')?;
            return Ok(Constant::Expression(Rc::new(Expression::Binary(op, ty, left, right))));
        }
        while matches!(self.token, Token::Word(_)) {
            self.advance();
        }
        if self.is('(') {
            self.skip_parentheses()?;
        } else if matches!(self.token, Token::Global(_)) {
            // `dso_local_equivalent @f`, `no_cfi @f`
            self.advance();
        } else {
            return self.unexpected("a constant");
        }
        Ok(Constant::Expression(Rc::new(Expression::Unknown(word.to_owned()))))
    }

    // Functions.

    /// Skips attributes and flags in front of a type or a name.
    fn skip_attributes(&mut self) -> Parsed<()> {
        loop {
            match self.token {
                Token::Word(word) if !is_type_word(word) => {
                    self.advance();
                    if self.is('(') {
                        self.skip_parentheses()?;
                    }
                }
                Token::Text(_) => {
                    self.advance();
                    if self.eat('=') {
                        self.advance();
                    }
                }
                Token::Integer(_) | Token::Attributes | Token::Comdat => {
                    self.advance();
                }
                _ => return Ok(()),
            }
        }
    }

    fn function(&mut self, is_defined: bool) -> Parsed<()> {
        let first = self.line;
        self.advance();
        self.locals.clear();
        self.blocks.clear();
        (self.next_local, self.next_block, self.unnamed) = (0, 0, 0);
        let mut is_internal = false;
        while let Token::Word(word) = self.token {
            if is_type_word(word) {
                break;
            }
            is_internal |= matches!(word, "internal" | "private");
            self.advance();
            if self.is('(') {
                self.skip_parentheses()?;
            }
            while matches!(self.token, Token::Integer(_)) {
                self.advance();
            }
        }
        self.skip_attributes()?;
        let returns = self.ty()?;
        let Token::Global(name) = self.advance() else { return self.error("a function's name was expected") };
        let name: Rc<str> = name.as_ref().into();
        let parameters = self.parameters()?;
        let mut function = Function {
            name: name.clone(),
            returns,
            parameters,
            blocks: Vec::new(),
            locals: 0,
            is_internal,
            debug: None,
        };
        if is_defined {
            // Attributes, personality, `!dbg !7`, up to the body.
            while !self.is('{') {
                match self.advance() {
                    Token::MetadataName("dbg") => {
                        if let Token::MetadataId(id) = self.token {
                            function.debug = Some(id);
                        }
                    }
                    Token::End => return self.unexpected("`{`"),
                    _ => {}
                }
            }
            self.advance();
            function.blocks = self.body()?;
        } else {
            self.skip_line(first);
        }
        function.locals = self.next_local;
        let is_known = self.module.functions.get(&name).is_some_and(|known| !known.blocks.is_empty());
        if !is_known {
            self.module.functions.insert(name, Rc::new(function));
        }
        Ok(())
    }

    fn parameters(&mut self) -> Parsed<Vec<(Type, Local)>> {
        self.expect('(')?;
        let mut parameters = Vec::new();
        while !self.is(')') {
            if self.token == Token::Ellipsis {
                self.advance();
                break;
            }
            let ty = self.ty()?;
            self.skip_attributes()?;
            let local = match self.token.clone() {
                Token::Local(name) => {
                    self.advance();
                    self.local(&name)
                }
                _ => {
                    let name = self.unnamed.to_string();
                    self.local(&name)
                }
            };
            self.count_unnamed(local);
            parameters.push((ty, local));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(parameters)
    }

    fn local(&mut self, name: &str) -> Local {
        if let Some(&local) = self.locals.get(name) {
            return local;
        }
        let local = Local(self.next_local);
        self.next_local = self.next_local.saturating_add(1);
        self.locals.insert(name.to_owned(), local);
        local
    }

    /// Counts a value on that was numbered by the text.
    fn count_unnamed(&mut self, local: Local) {
        if self.locals.get(self.unnamed.to_string().as_str()) == Some(&local) {
            self.unnamed += 1;
        }
    }

    fn block_of(&mut self, name: &str) -> BlockIndex {
        if let Some(&block) = self.blocks.get(name) {
            return block;
        }
        let block = BlockIndex(self.next_block);
        self.next_block = self.next_block.saturating_add(1);
        self.blocks.insert(name.to_owned(), block);
        block
    }

    /// The blocks of a function, behind its `{`.
    fn body(&mut self) -> Parsed<Vec<Block>> {
        let mut defined: BTreeMap<BlockIndex, Block> = BTreeMap::new();
        let mut current: Option<(BlockIndex, Block)> = None;
        let mut entry = None;
        loop {
            match &self.token {
                Token::Symbol('}') => {
                    self.advance();
                    break;
                }
                Token::End => return self.unexpected("`}`"),
                Token::Label(name) => {
                    let name = name.clone();
                    self.advance();
                    if let Some((index, block)) = current.take() {
                        defined.insert(index, block);
                    }
                    if name.parse() == Ok(self.unnamed) {
                        self.unnamed += 1;
                    }
                    let index = self.block_of(&name);
                    entry.get_or_insert(index);
                    if defined.contains_key(&index) {
                        return self.error(format!("the block %{name} is defined twice"));
                    }
                    current = Some((index, Block::default()));
                }
                // `uselistorder`, records of debug information.
                Token::Word("uselistorder") | Token::DebugRecord => {
                    let line = self.line;
                    self.skip_line(line);
                }
                _ => {
                    if current.is_none() {
                        // The first block may have no label: its number is that behind the parameters.
                        let name = self.unnamed.to_string();
                        self.unnamed += 1;
                        let index = self.block_of(&name);
                        entry.get_or_insert(index);
                        current = Some((index, Block::default()));
                    }
                    let instruction = self.instruction()?;
                    if let Some((_, block)) = &mut current {
                        block.instructions.push(instruction);
                    }
                }
            }
        }
        if let Some((index, block)) = current {
            defined.insert(index, block);
        }
        if entry.is_some_and(|entry| entry != BlockIndex(0)) {
            return self.error("a function's first block is named elsewhere before it");
        }
        let mut blocks = Vec::new();
        for number in 0..self.next_block {
            match defined.remove(&BlockIndex(number)) {
                Some(block) => blocks.push(block),
                None => return self.error("a function branches to a block that it does not have"),
            }
        }
        Ok(blocks)
    }

    // Instructions.

    fn operand(&mut self, ty: &Type) -> Parsed<Operand> {
        if let Token::Local(name) = &self.token {
            let name = name.clone();
            self.advance();
            return Ok(Operand::Local(self.local(&name)));
        }
        if self.is_word("asm")
            || matches!(self.token, Token::Exclamation | Token::MetadataId(_) | Token::MetadataName(_))
        {
            return self.unexpected("a value");
        }
        Ok(Operand::Constant(self.constant(ty)?))
    }

    fn typed(&mut self) -> Parsed<Typed> {
        let ty = self.ty()?;
        let operand = self.operand(&ty)?;
        Ok((ty, operand))
    }

    fn block(&mut self) -> Parsed<BlockIndex> {
        self.expect_word("label")?;
        match self.advance() {
            Token::Local(name) => Ok(self.block_of(&name)),
            token => self.error(format!("a block was expected, not {token:?}")),
        }
    }

    fn instruction(&mut self) -> Parsed<Instruction> {
        let first = self.line;
        let mut result = None;
        if let Token::Local(name) = &self.token {
            let name = name.clone();
            self.advance();
            self.expect('=')?;
            let local = self.local(&name);
            self.count_unnamed(local);
            result = Some(local);
        }
        let Token::Word(opcode) = self.token else { return self.unexpected("an instruction") };
        self.advance();
        let (ty, mut kind) = self.operation(opcode, first)?;
        let (debug, align) = self.trailing(first)?;
        match &mut kind {
            Kind::Load { align: to, .. } | Kind::Store { align: to, .. } | Kind::Alloca { align: to, .. }
                if align > 0 =>
            {
                *to = align;
            }
            _ => {}
        }
        Ok(Instruction { result, ty, kind, debug })
    }

    /// The rest of an instruction: `, align 4, !dbg !12`.
    fn trailing(&mut self, first: u32) -> Parsed<(Option<u32>, u64)> {
        let (mut debug, mut align) = (None, 0);
        let last = self.previous.max(first);
        while self.line == last && self.token != Token::End && !self.is('}') {
            match self.advance() {
                Token::MetadataName("dbg") => {
                    if let Token::MetadataId(id) = self.token {
                        debug = Some(id);
                    }
                }
                Token::Word("align") => {
                    if let Token::Integer(_) = self.token {
                        align = self.count()?;
                    }
                }
                // Inline metadata is a list in braces.
                Token::Symbol('{') => {
                    while !self.is('}') && self.token != Token::End {
                        self.advance();
                    }
                    self.advance();
                }
                _ => {}
            }
        }
        Ok((debug, align))
    }

    fn operation(&mut self, opcode: &str, first: u32) -> Parsed<(Type, Kind)> {
        if let Some(mut op) = binary(opcode) {
            let is_disjoint = self.eat_word("disjoint");
            self.skip_attributes()?;
            let ty = self.ty()?;
            // LLVM writes a sum this way if no bit is in both. Drivers recognize consecutive indices in sums alone.
            if is_disjoint && matches!(ty, Type::Int(32 | 64)) {
                op = Binary::Add;
            }
            let left = self.operand(&ty)?;
            self.expect(',')?;
            let right = self.operand(&ty)?;
            let kind = match division(op) {
                Some(function) if ty == Type::Int(128) => Kind::Call {
                    callee: Callee::Function(function.into()),
                    arguments: vec![(ty.clone(), left), (ty.clone(), right)],
                    aligns: vec![0, 0],
                },
                _ => Kind::Binary(op, left, right),
            };
            return Ok((ty, kind));
        }
        if let Some(op) = cast(opcode) {
            self.skip_attributes()?;
            let (from, value) = self.typed()?;
            self.expect_word("to")?;
            let to = self.ty()?;
            return Ok((to, Kind::Cast(op, from, value)));
        }
        Ok(match opcode {
            "fneg" | "freeze" => {
                self.skip_attributes()?;
                let (ty, value) = self.typed()?;
                (ty, if opcode == "fneg" { Kind::FNeg(value) } else { Kind::Freeze(value) })
            }
            "icmp" => {
                let predicate = self.predicate(int_predicate)?;
                let ty = self.ty()?;
                let left = self.operand(&ty)?;
                self.expect(',')?;
                let right = self.operand(&ty)?;
                (bools(&ty), Kind::CompareInts(predicate, ty, left, right))
            }
            "fcmp" => {
                let predicate = self.predicate(float_predicate)?;
                let ty = self.ty()?;
                let left = self.operand(&ty)?;
                self.expect(',')?;
                let right = self.operand(&ty)?;
                (bools(&ty), Kind::CompareFloats(predicate, ty, left, right))
            }
            "select" => {
                self.skip_attributes()?;
                let condition = self.typed()?;
                self.expect(',')?;
                let (ty, yes) = self.typed()?;
                self.expect(',')?;
                let (_, no) = self.typed()?;
                (ty, Kind::Select(condition, yes, no))
            }
            "phi" => self.phi()?,
            "alloca" => {
                self.skip_attributes()?;
                let ty = self.ty()?;
                let mut count = None;
                while self.line == first && self.is(',') {
                    let before = (self.lexer.clone(), self.token.clone(), self.line, self.previous);
                    self.advance();
                    if self.starts_type() {
                        count = Some(self.typed()?);
                    } else {
                        (self.lexer, self.token, self.line, self.previous) = before;
                        break;
                    }
                }
                let align = super::layout::align(&ty);
                (Type::Pointer, Kind::Alloca { ty, count, align })
            }
            "load" => {
                let is_atomic = self.access_flags();
                let ty = self.ty()?;
                self.expect(',')?;
                let (_, pointer) = self.typed()?;
                let atomic = if is_atomic { Some(self.ordering()?) } else { None };
                let align = super::layout::align(&ty);
                (ty, Kind::Load { pointer, align, atomic })
            }
            "store" => {
                let is_atomic = self.access_flags();
                let value = self.typed()?;
                self.expect(',')?;
                let (_, pointer) = self.typed()?;
                let atomic = if is_atomic { Some(self.ordering()?) } else { None };
                let align = super::layout::align(&value.0);
                (Type::Void, Kind::Store { value, pointer, align, atomic })
            }
            "getelementptr" => {
                let in_bounds = self.is_word("inbounds");
                self.skip_attributes()?;
                let element = self.ty()?;
                self.expect(',')?;
                let (ty, base) = self.typed()?;
                let mut indices = Vec::new();
                while self.line == first && self.is(',') {
                    let before = (self.lexer.clone(), self.token.clone(), self.line, self.previous);
                    self.advance();
                    if !self.starts_type() {
                        (self.lexer, self.token, self.line, self.previous) = before;
                        break;
                    }
                    indices.push(self.typed()?);
                }
                (ty, Kind::Address { element, base, indices, in_bounds })
            }
            "extractvalue" => {
                let aggregate = self.typed()?;
                let path = self.path(first)?;
                match element_type(&aggregate.0, &path) {
                    Some(ty) => (ty, Kind::ExtractValue(aggregate, path)),
                    None => return self.error("extractvalue of an element that is not there"),
                }
            }
            "insertvalue" => {
                let aggregate = self.typed()?;
                self.expect(',')?;
                let value = self.typed()?;
                let path = self.path(first)?;
                if element_type(&aggregate.0, &path).is_none() {
                    return self.error("insertvalue of an element that is not there");
                }
                (aggregate.0.clone(), Kind::InsertValue(aggregate, value, path))
            }
            "extractelement" => {
                let vector = self.typed()?;
                self.expect(',')?;
                let index = self.typed()?;
                match vector.0.element(0) {
                    Some(ty) => (ty.clone(), Kind::ExtractElement(vector, index)),
                    None => return self.error("extractelement of what is no vector"),
                }
            }
            "insertelement" => {
                let vector = self.typed()?;
                self.expect(',')?;
                let value = self.typed()?;
                self.expect(',')?;
                let index = self.typed()?;
                (vector.0.clone(), Kind::InsertElement(vector, value, index))
            }
            "shufflevector" => {
                let left = self.typed()?;
                self.expect(',')?;
                let right = self.typed()?;
                self.expect(',')?;
                let mask = self.typed()?;
                match (left.0.element(0), mask.0.elements()) {
                    (Some(element), Some(count)) => {
                        (Type::Vector(count, Rc::new(element.clone())), Kind::Shuffle(left, right, mask))
                    }
                    _ => return self.error("shufflevector of what is no vector"),
                }
            }
            "atomicrmw" => {
                self.eat_word("volatile");
                let word = if let Token::Word(word) = self.token { word } else { "" };
                let Some(op) = atomic_op(word) else {
                    return Ok(self.unknown(&format!("atomicrmw {word}"), first));
                };
                self.advance();
                let (_, pointer) = self.typed()?;
                self.expect(',')?;
                let (ty, value) = self.typed()?;
                let ordering = self.ordering()?;
                (ty, Kind::Atomic { op, pointer, value, ordering })
            }
            "cmpxchg" => {
                while self.is_word("weak") || self.is_word("volatile") {
                    self.advance();
                }
                let (_, pointer) = self.typed()?;
                self.expect(',')?;
                let expected = self.typed()?;
                self.expect(',')?;
                let (_, new) = self.typed()?;
                let success = self.ordering()?;
                let failure = self.ordering()?;
                let fields = vec![expected.0.clone(), Type::BOOL].into();
                let ty = Type::Struct { packed: false, fields };
                (ty, Kind::CompareExchange { pointer, expected, new, success, failure })
            }
            "fence" => (Type::Void, Kind::Fence(self.ordering()?)),
            "call" | "tail" | "musttail" | "notail" | "invoke" => self.call(opcode, first)?,
            "ret" => {
                let ty = self.ty()?;
                let value = match ty {
                    Type::Void => None,
                    ty => {
                        let operand = self.operand(&ty)?;
                        Some((ty, operand))
                    }
                };
                (Type::Void, Kind::Return(value))
            }
            "br" => {
                if self.is_word("label") {
                    (Type::Void, Kind::Branch(self.block()?))
                } else {
                    let (_, condition) = self.typed()?;
                    self.expect(',')?;
                    let yes = self.block()?;
                    self.expect(',')?;
                    (Type::Void, Kind::Conditional(condition, yes, self.block()?))
                }
            }
            "switch" => {
                let value = self.typed()?;
                self.expect(',')?;
                let default = self.block()?;
                self.expect('[')?;
                let mut cases = Vec::new();
                while !self.is(']') {
                    let ty = self.ty()?;
                    let Constant::Int(case) = self.constant(&ty)? else {
                        return self.error("a case is no number");
                    };
                    self.expect(',')?;
                    cases.push((case, self.block()?));
                }
                self.advance();
                (Type::Void, Kind::Switch { value, default, cases })
            }
            "unreachable" => (Type::Void, Kind::Unreachable),
            _ => self.unknown(opcode, first),
        })
    }

    /// An instruction that is not known: its line is skipped.
    fn unknown(&mut self, opcode: &str, first: u32) -> (Type, Kind) {
        self.skip_line(first);
        (Type::Void, Kind::Unknown(opcode.to_owned()))
    }

    fn predicate<P>(&mut self, known: fn(&str) -> Option<P>) -> Parsed<P> {
        loop {
            match self.advance() {
                Token::Word(word) => {
                    if let Some(predicate) = known(word) {
                        return Ok(predicate);
                    }
                    if is_type_word(word) {
                        return self.error("a comparison has no known predicate");
                    }
                }
                token => return self.error(format!("a predicate was expected, not {token:?}")),
            }
        }
    }

    /// Whether an access is atomic. That it is volatile is a hint.
    fn access_flags(&mut self) -> bool {
        let mut atomic = false;
        while let Token::Word(word @ ("atomic" | "volatile")) = self.token {
            atomic |= word == "atomic";
            self.advance();
        }
        atomic
    }

    fn ordering(&mut self) -> Parsed<Ordering> {
        if self.eat_word("syncscope") {
            self.skip_parentheses()?;
        }
        let ordering = match self.token {
            Token::Word("unordered" | "monotonic") => Ordering::Monotonic,
            Token::Word("acquire") => Ordering::Acquire,
            Token::Word("release") => Ordering::Release,
            Token::Word("acq_rel") => Ordering::AcquireRelease,
            Token::Word("seq_cst") => Ordering::SequentiallyConsistent,
            _ => return self.unexpected("the order of an atomic operation"),
        };
        self.advance();
        Ok(ordering)
    }

    fn phi(&mut self) -> Parsed<(Type, Kind)> {
        self.skip_attributes()?;
        let ty = self.ty()?;
        let mut incoming = Vec::new();
        while self.eat('[') {
            let value = self.operand(&ty)?;
            self.expect(',')?;
            let Token::Local(block) = self.advance() else { return self.error("a phi names no block") };
            incoming.push((value, self.block_of(&block)));
            self.expect(']')?;
            // Metadata may follow.
            if !self.is(',') {
                break;
            }
            let before = (self.lexer.clone(), self.token.clone(), self.line, self.previous);
            self.advance();
            if !self.is('[') {
                (self.lexer, self.token, self.line, self.previous) = before;
                break;
            }
        }
        Ok((ty, Kind::Phi(incoming)))
    }

    /// The numbers behind `extractvalue` and `insertvalue`.
    fn path(&mut self, first: u32) -> Parsed<Vec<u64>> {
        let mut path = Vec::new();
        while self.line == first && self.is(',') {
            let before = (self.lexer.clone(), self.token.clone(), self.line, self.previous);
            self.advance();
            if !matches!(self.token, Token::Integer(_)) {
                (self.lexer, self.token, self.line, self.previous) = before;
                break;
            }
            path.push(self.count()?);
        }
        Ok(path)
    }

    /// Assembly, behind its keyword: none at all, as `black_box` and the barriers of oclave-kernel have it, and libm's square
    /// roots. All else is refused.
    fn assembly(&mut self, ty: Type, first: u32) -> Parsed<(Type, Kind)> {
        let mut texts = Vec::new();
        while !matches!(self.token, Token::Symbol('(') | Token::End) {
            if let Token::Text(text) = self.advance() {
                texts.push(text);
            }
        }
        self.advance();
        // The other text says where operands are.
        let template = texts.first().map(Vec::as_slice).unwrap_or_default();
        let is_root =
            ["sqrtss ", "sqrtsd ", "fsqrt "].iter().any(|name| template.starts_with(name.as_bytes()));
        let (mut callee, mut arguments) = (Callee::Other("assembly"), Vec::new());
        if template.is_empty() && (self.is(')') || ty == Type::Void) {
            callee = Callee::Nothing;
        } else if is_root && matches!(ty, Type::Float | Type::Double) {
            callee = Callee::Function("llvm.sqrt".into());
            arguments.push(self.typed()?);
        }
        self.skip_line(first);
        Ok((ty, Kind::Call { callee, arguments, aligns: Vec::new() }))
    }

    fn call(&mut self, opcode: &str, first: u32) -> Parsed<(Type, Kind)> {
        if opcode != "call" && opcode != "invoke" {
            self.expect_word("call")?;
        }
        self.skip_attributes()?;
        let ty = self.ty()?;
        if self.is('(') {
            // The type of a function with a variable number of arguments.
            self.skip_parentheses()?;
        }
        let callee = match self.advance() {
            Token::Global(name) => Callee::Function(name.as_ref().into()),
            Token::Local(name) => Callee::Pointer(self.local(&name)),
            Token::Word("asm") => {
                return self.assembly(ty, first);
            }
            _ => {
                self.skip_line(first);
                return Ok((
                    ty,
                    Kind::Call {
                        callee: Callee::Other("a constant expression"),
                        arguments: Vec::new(),
                        aligns: Vec::new(),
                    },
                ));
            }
        };
        self.expect('(')?;
        let (mut arguments, mut aligns) = (Vec::new(), Vec::new());
        while !self.is(')') {
            if self.eat_word("metadata") {
                self.skip_metadata_argument()?;
            } else {
                let ty = self.ty()?;
                aligns.push(self.argument_attributes()?);
                let operand = self.operand(&ty)?;
                arguments.push((ty, operand));
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        while matches!(self.token, Token::Attributes) {
            self.advance();
        }
        if opcode == "invoke" {
            self.skip_attributes()?;
            self.skip_line(first);
            self.skip_line(first.saturating_add(1));
            return Ok((Type::Void, Kind::Unknown("invoke".to_owned())));
        }
        // Bundles of operands: hints of `llvm.assume`.
        if self.is('[') {
            self.skip_line(first);
        }
        Ok((ty, Kind::Call { callee, arguments, aligns }))
    }

    /// As [`Self::skip_attributes`], but constants that are words stay. Gives the alignment.
    fn argument_attributes(&mut self) -> Parsed<u64> {
        let mut align = 0;
        loop {
            match self.token {
                Token::Word(word) if is_constant_word(word) => return Ok(align),
                Token::Word(word) => {
                    self.advance();
                    if word == "align" && matches!(self.token, Token::Integer(_)) {
                        align = self.count()?;
                    } else if self.is('(') {
                        self.skip_parentheses()?;
                    }
                }
                Token::Text(_) => {
                    self.advance();
                    if self.eat('=') {
                        self.advance();
                    }
                }
                _ => return Ok(align),
            }
        }
    }

    fn skip_metadata_argument(&mut self) -> Parsed<()> {
        let mut depth = 0_u32;
        loop {
            match self.token {
                Token::Symbol('(' | '{') => depth += 1,
                Token::Symbol(')' | '}') if depth > 0 => depth -= 1,
                Token::Symbol(')' | ',') if depth == 0 => return Ok(()),
                Token::End => return self.unexpected("`)`"),
                _ => {}
            }
            self.advance();
        }
    }
}

/// The type of the element that a path of numbers leads to.
fn element_type(ty: &Type, path: &[u64]) -> Option<Type> {
    let mut ty = ty;
    for index in path {
        ty = ty.element(*index)?;
    }
    Some(ty.clone())
}

/// The type of comparisons of values of a type.
fn bools(ty: &Type) -> Type {
    match ty {
        Type::Vector(count, _) => Type::Vector(*count, Rc::new(Type::BOOL)),
        _ => Type::BOOL,
    }
}

fn integer_width(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('i')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // LLVM's own limit is 2^23.
    digits.parse().ok().filter(|width| is_number && (1..=1 << 23).contains(width))
}

fn is_type_word(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "half"
            | "bfloat"
            | "float"
            | "double"
            | "fp128"
            | "x86_fp80"
            | "ppc_fp128"
            | "x86_amx"
            | "ptr"
            | "label"
            | "metadata"
            | "token"
    ) || integer_width(word).is_some()
}

/// Whether a word behind a type is a constant, not an attribute.
fn is_constant_word(word: &str) -> bool {
    matches!(
        word,
        "true"
            | "false"
            | "null"
            | "zeroinitializer"
            | "none"
            | "undef"
            | "poison"
            | "splat"
            | "getelementptr"
            | "asm"
    ) || cast(word).is_some()
        || binary(word).is_some()
}

/// The function of oclave-kernel that divides numbers of 128 bits, which devices cannot.
fn division(op: Binary) -> Option<&'static str> {
    Some(match op {
        Binary::UDiv => "oclave_kernel_udiv",
        Binary::URem => "oclave_kernel_urem",
        Binary::SDiv => "oclave_kernel_sdiv",
        Binary::SRem => "oclave_kernel_srem",
        _ => return None,
    })
}

fn binary(word: &str) -> Option<Binary> {
    Some(match word {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" => Binary::Mul,
        "udiv" => Binary::UDiv,
        "sdiv" => Binary::SDiv,
        "urem" => Binary::URem,
        "srem" => Binary::SRem,
        "shl" => Binary::Shl,
        "lshr" => Binary::LShr,
        "ashr" => Binary::AShr,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "fadd" => Binary::FAdd,
        "fsub" => Binary::FSub,
        "fmul" => Binary::FMul,
        "fdiv" => Binary::FDiv,
        "frem" => Binary::FRem,
        _ => return None,
    })
}

fn cast(word: &str) -> Option<Cast> {
    Some(match word {
        "trunc" => Cast::Trunc,
        "zext" => Cast::ZExt,
        "sext" => Cast::SExt,
        "fptrunc" => Cast::FpTrunc,
        "fpext" => Cast::FpExt,
        "fptoui" => Cast::FpToUi,
        "fptosi" => Cast::FpToSi,
        "uitofp" => Cast::UiToFp,
        "sitofp" => Cast::SiToFp,
        "ptrtoint" | "ptrtoaddr" => Cast::PtrToInt,
        "inttoptr" => Cast::IntToPtr,
        "bitcast" => Cast::Bitcast,
        "addrspacecast" => Cast::AddressSpace,
        _ => return None,
    })
}

fn int_predicate(word: &str) -> Option<IntPredicate> {
    Some(match word {
        "eq" => IntPredicate::Eq,
        "ne" => IntPredicate::Ne,
        "ugt" => IntPredicate::Ugt,
        "uge" => IntPredicate::Uge,
        "ult" => IntPredicate::Ult,
        "ule" => IntPredicate::Ule,
        "sgt" => IntPredicate::Sgt,
        "sge" => IntPredicate::Sge,
        "slt" => IntPredicate::Slt,
        "sle" => IntPredicate::Sle,
        _ => return None,
    })
}

fn float_predicate(word: &str) -> Option<FloatPredicate> {
    Some(match word {
        "false" => FloatPredicate::False,
        "oeq" => FloatPredicate::Oeq,
        "ogt" => FloatPredicate::Ogt,
        "oge" => FloatPredicate::Oge,
        "olt" => FloatPredicate::Olt,
        "ole" => FloatPredicate::Ole,
        "one" => FloatPredicate::One,
        "ord" => FloatPredicate::Ord,
        "ueq" => FloatPredicate::Ueq,
        "ugt" => FloatPredicate::Ugt,
        "uge" => FloatPredicate::Uge,
        "ult" => FloatPredicate::Ult,
        "ule" => FloatPredicate::Ule,
        "une" => FloatPredicate::Une,
        "uno" => FloatPredicate::Uno,
        "true" => FloatPredicate::True,
        _ => return None,
    })
}

fn atomic_op(word: &str) -> Option<AtomicOp> {
    Some(match word {
        "xchg" => AtomicOp::Exchange,
        "add" => AtomicOp::Add,
        "sub" => AtomicOp::Sub,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "max" => AtomicOp::Max,
        "min" => AtomicOp::Min,
        "umax" => AtomicOp::UMax,
        "umin" => AtomicOp::UMin,
        "nand" => AtomicOp::Nand,
        _ => return None,
    })
}
