//! Runs kernels without a compiler: all work-items of a group take each statement together.
//!
//! Between two barriers no work-item reads what another one writes, so any order of them gives the
//! same.

use crate::ast::{
    Binary, Compare, Count, Expr, Function, INPUT_WORDS, Kernel, PRIVATE_WORDS, Place, Stmt, Unary, Until,
    WORDS_PER_ITEM,
};

/// A vector; words and truth values are in its first lane.
type Value = [u32; 4];

/// The kernel takes more steps than a test should.
#[derive(Debug, Clone, Copy)]
pub struct TooLong;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Runs,
    Broke,
    Continued,
    Returned,
}

#[derive(Debug, Clone)]
struct Item {
    vars: Vec<Value>,
    counters: Vec<u32>,
    privates: Vec<[u32; PRIVATE_WORDS as usize]>,
    flow: Flow,
    out: [u32; WORDS_PER_ITEM],
    local: [u32; 2],
}

struct Group<'a> {
    functions: &'a [Function],
    params: [u32; 2],
    input: &'a [u32],
    number: u32,
    size: [u32; 2],
    items: Vec<Item>,
    locals: Vec<Vec<u32>>,
    widths: &'a [u32],
    sum: u32,
    steps: u64,
}

/// What the kernel writes: first words, second words of all work-items, and a sum for each group.
///
/// # Errors
/// [`TooLong`] after `steps` steps.
pub fn evaluate(
    kernel: &Kernel,
    input: &[u32],
    size: [u32; 2],
    groups: u32,
    steps: u64,
) -> Result<Vec<u32>, TooLong> {
    let count = size[0] * size[1];
    let total = (count * groups) as usize;
    let mut out = vec![0; total * WORDS_PER_ITEM + groups as usize];
    for number in 0..groups {
        let items = (0..count).map(|i| Item {
            vars: vec![[0; 4]; kernel.vars.len()],
            counters: vec![0; kernel.counters],
            privates: vec![[0; PRIVATE_WORDS as usize]; kernel.privates],
            flow: Flow::Runs,
            out: [0; WORDS_PER_ITEM],
            local: [i % size[0], i / size[0]],
        });
        let mut group = Group {
            functions: &kernel.functions,
            params: kernel.params,
            input,
            number,
            size,
            items: items.collect(),
            locals: kernel.locals.iter().map(|width| vec![0; (width * count) as usize]).collect(),
            widths: &kernel.locals,
            sum: 0,
            steps,
        };
        group.block(&kernel.body, &vec![true; count as usize])?;
        for (i, item) in group.items.iter().enumerate() {
            for (word, value) in item.out.iter().enumerate() {
                out[word * total + number as usize * count as usize + i] = *value;
            }
        }
        out[total * WORDS_PER_ITEM + number as usize] = group.sum;
    }
    Ok(out)
}

impl Group<'_> {
    fn active(&self, mask: &[bool]) -> Vec<usize> {
        (0..self.items.len()).filter(|i| mask[*i] && self.items[*i].flow == Flow::Runs).collect()
    }

    fn only(&self, items: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut mask = vec![false; self.items.len()];
        for i in items {
            mask[i] = true;
        }
        mask
    }

    fn block(&mut self, body: &[Stmt], mask: &[bool]) -> Result<(), TooLong> {
        for stmt in body {
            let active = self.active(mask);
            if active.is_empty() {
                break;
            }
            self.steps = self.steps.checked_sub(active.len() as u64).ok_or(TooLong)?;
            self.stmt(stmt, &active)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, active: &[usize]) -> Result<(), TooLong> {
        match stmt {
            Stmt::Assign(var, value) => {
                for &i in active {
                    self.items[i].vars[*var] = self.value(i, value)?;
                }
            }
            Stmt::Advance(var, value, most) => {
                for &i in active {
                    let step = self.word(i, value)? % most + 1;
                    self.items[i].vars[*var][0] = self.items[i].vars[*var][0].wrapping_add(step);
                }
            }
            Stmt::SetPrivate(array, index, value) => {
                for &i in active {
                    let index = self.word(i, index)? % PRIVATE_WORDS;
                    self.items[i].privates[*array][index as usize] = self.word(i, value)?;
                }
            }
            Stmt::SetOwn(array, turn, index, value) => {
                for &i in active {
                    let at = self.own(i, *array, *turn, index)?;
                    self.locals[*array][at] = self.word(i, value)?;
                }
            }
            Stmt::If(condition, then, otherwise) => {
                let (mut yes, mut no) = (Vec::new(), Vec::new());
                for &i in active {
                    if self.word(i, condition)? != 0 { yes.push(i) } else { no.push(i) }
                }
                let (yes, no) = (self.only(yes), self.only(no));
                self.block(then, &yes)?;
                self.block(otherwise, &no)?;
            }
            Stmt::For { counter, count, bound, body } => self.count(*counter, *count, bound, body, active)?,
            Stmt::Until { var, limit, form, body } => self.until(*var, limit, *form, body, active)?,
            Stmt::Switch(value, cases) => self.switch(value, cases, active)?,
            Stmt::Break => active.iter().for_each(|i| self.items[*i].flow = Flow::Broke),
            Stmt::Continue => active.iter().for_each(|i| self.items[*i].flow = Flow::Continued),
            Stmt::Return(value) => {
                for &i in active {
                    self.items[i].out[0] = self.word(i, value)?;
                    self.items[i].flow = Flow::Returned;
                }
            }
            Stmt::Barrier => {}
            Stmt::Accumulate(value) => {
                for &i in active {
                    let value = self.word(i, value)?;
                    let word = &mut self.items[i].out[1];
                    *word = word.wrapping_mul(3).wrapping_add(value);
                }
            }
            Stmt::Atomic(value) => {
                for &i in active {
                    self.sum = self.sum.wrapping_add(self.word(i, value)?);
                }
            }
        }
        Ok(())
    }

    fn count(
        &mut self,
        counter: usize,
        count: Count,
        bound: &Expr,
        body: &[Stmt],
        active: &[usize],
    ) -> Result<(), TooLong> {
        let mut inside = active.to_vec();
        for &i in active {
            let bound = self.word(i, bound)?;
            self.items[i].counters[counter] = if count == Count::Down { bound.wrapping_sub(1) } else { 0 };
        }
        let mut first = true;
        loop {
            let mut staying = Vec::new();
            for &i in &inside {
                let at = self.items[i].counters[counter] as i32;
                // The bound is looked at in each round, as C does; nothing in the body changes it.
                let bound = self.word(i, bound)? as i32;
                let goes_on = match count {
                    Count::Up | Count::UpByTwo => at < bound,
                    Count::Down => at >= 0,
                    Count::AtEnd => first || at < bound,
                };
                if goes_on {
                    staying.push(i);
                }
            }
            first = false;
            if staying.is_empty() {
                return Ok(());
            }
            inside = self.round(body, staying)?;
            for &i in &inside {
                let at = &mut self.items[i].counters[counter];
                *at = match count {
                    Count::Up | Count::AtEnd => at.wrapping_add(1),
                    Count::UpByTwo => at.wrapping_add(2),
                    Count::Down => at.wrapping_sub(1),
                };
            }
        }
    }

    fn until(
        &mut self,
        var: usize,
        limit: &Expr,
        form: Until,
        body: &[Stmt],
        active: &[usize],
    ) -> Result<(), TooLong> {
        let mut inside = active.to_vec();
        let mut first = true;
        loop {
            let mut staying = Vec::new();
            for &i in &inside {
                let below = self.items[i].vars[var][0] < self.word(i, limit)?;
                if below || (first && form == Until::DoWhile) {
                    staying.push(i);
                }
            }
            first = false;
            if staying.is_empty() {
                return Ok(());
            }
            inside = self.round(body, staying)?;
        }
    }

    /// One round of a loop; gives those that go on.
    fn round(&mut self, body: &[Stmt], items: Vec<usize>) -> Result<Vec<usize>, TooLong> {
        let mask = self.only(items.iter().copied());
        self.block(body, &mask)?;
        let mut rest = Vec::new();
        for i in items {
            match self.items[i].flow {
                Flow::Runs | Flow::Continued => {
                    self.items[i].flow = Flow::Runs;
                    rest.push(i);
                }
                Flow::Broke => self.items[i].flow = Flow::Runs,
                Flow::Returned => {}
            }
        }
        Ok(rest)
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<Stmt>, bool)], active: &[usize]) -> Result<(), TooLong> {
        let last = cases.len() - 1;
        let mut entries = Vec::new();
        for &i in active {
            entries.push((i, (self.word(i, value)? as usize).min(last)));
        }
        let mut inside: Vec<usize> = Vec::new();
        for (number, (body, falls)) in cases.iter().enumerate() {
            inside.extend(entries.iter().filter(|(_, case)| *case == number).map(|(i, _)| *i));
            let mask = self.only(inside.iter().copied());
            self.block(body, &mask)?;
            if !falls {
                inside.clear();
            }
        }
        for &i in active {
            if self.items[i].flow == Flow::Broke {
                self.items[i].flow = Flow::Runs;
            }
        }
        Ok(())
    }

    fn own(&self, i: usize, array: usize, turn: u32, index: &Expr) -> Result<usize, TooLong> {
        let width = self.widths[array];
        let slot = (i as u32 + turn) % self.items.len() as u32;
        Ok((slot * width + self.word(i, index)? % width) as usize)
    }

    fn word(&self, i: usize, expr: &Expr) -> Result<u32, TooLong> {
        Ok(self.value(i, expr)?[0])
    }

    fn value(&self, i: usize, expr: &Expr) -> Result<Value, TooLong> {
        let item = &self.items[i];
        let word = |expr: &Expr| self.word(i, expr);
        let one = |value: u32| Ok([value, 0, 0, 0]);
        let is = |value: bool| Ok([u32::from(value), 0, 0, 0]);
        match expr {
            Expr::Const(value) => one(*value),
            Expr::Place(place) => one(self.place(i, *place)),
            Expr::Param(number) => one(self.params[*number]),
            Expr::Var(var) => Ok(item.vars[*var]),
            Expr::Counter(counter) => one(item.counters[*counter]),
            Expr::Unary(op, a) => Ok(self.value(i, a)?.map(|a| unary(*op, a))),
            Expr::Binary(op, a, b) => Ok(zip(self.value(i, a)?, self.value(i, b)?, |a, b| binary(*op, a, b))),
            Expr::Choose(c, a, b) => self.value(i, if word(c)? != 0 { a } else { b }),
            Expr::Input(index) => one(self.input[word(index)? as usize % INPUT_WORDS]),
            Expr::Shared(array, index) => {
                let all = &self.locals[*array];
                one(all[word(index)? as usize % all.len()])
            }
            Expr::Own(array, turn, index) => one(self.locals[*array][self.own(i, *array, *turn, index)?]),
            Expr::Private(array, index) => {
                one(item.privates[*array][(word(index)? % PRIVATE_WORDS) as usize])
            }
            Expr::Compare(op, a, b) => is(compare(*op, word(a)?, word(b)?)),
            Expr::Not(a) => is(word(a)? == 0),
            Expr::Both(a, b) => is(word(a)? != 0 && word(b)? != 0),
            Expr::Either(a, b) => is(word(a)? != 0 || word(b)? != 0),
            Expr::Lane(lane, a) => one(self.value(i, a)?[*lane]),
            Expr::Make(parts) => Ok([word(&parts[0])?, word(&parts[1])?, word(&parts[2])?, word(&parts[3])?]),
            Expr::Splat(a) => Ok([word(a)?; 4]),
            Expr::Swizzle(lanes, a) => {
                let a = self.value(i, a)?;
                Ok(lanes.map(|lane| a[lane]))
            }
            Expr::Select(parts) => {
                let [a, b, c, d] = parts.as_ref();
                let (a, b) = (self.value(i, a)?, self.value(i, b)?);
                let (c, d) = (self.value(i, c)?, self.value(i, d)?);
                Ok(std::array::from_fn(|lane| if c[lane] < d[lane] { b[lane] } else { a[lane] }))
            }
            Expr::Call(function, a, b) => one(self.call(*function, word(a)?, word(b)?)?),
        }
    }

    fn place(&self, i: usize, place: Place) -> u32 {
        let items = self.size[0] * self.size[1];
        match place {
            Place::Global => self.number * items + i as u32,
            Place::Local => i as u32,
            Place::LocalX => self.items[i].local[0],
            Place::LocalY => self.items[i].local[1],
            Place::Group => self.number,
            Place::Items => items,
        }
    }

    fn call(&self, number: usize, a: u32, b: u32) -> Result<u32, TooLong> {
        let function = &self.functions[number];
        let mut vars = vec![[0; 4]; function.vars.len()];
        (vars[0][0], vars[1][0]) = (a, b);
        let item = Item {
            vars,
            counters: vec![0; function.counters],
            privates: Vec::new(),
            flow: Flow::Runs,
            out: [0; WORDS_PER_ITEM],
            local: [0; 2],
        };
        let mut inner = Group {
            functions: &[],
            params: self.params,
            input: self.input,
            number: 0,
            size: [1, 1],
            items: vec![item],
            locals: Vec::new(),
            widths: &[],
            sum: 0,
            steps: 1000,
        };
        inner.block(&function.body, &[true])?;
        inner.word(0, &function.result)
    }
}

fn zip(a: Value, b: Value, f: impl Fn(u32, u32) -> u32) -> Value {
    std::array::from_fn(|lane| f(a[lane], b[lane]))
}

fn unary(op: Unary, a: u32) -> u32 {
    match op {
        Unary::Not => !a,
        Unary::Negate => a.wrapping_neg(),
        Unary::CountOnes => a.count_ones(),
        Unary::LeadingZeros => a.leading_zeros(),
        Unary::SignedByte => i32::from(a as i8) as u32,
        Unary::UnsignedShort => u32::from(a as u16),
    }
}

fn binary(op: Binary, a: u32, b: u32) -> u32 {
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << (b & 31),
        Binary::Shr => a >> (b & 31),
        Binary::Div => a / (b | 1),
        Binary::Rem => a % (b | 1),
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::AbsDiff => a.abs_diff(b),
        Binary::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Binary::Rotate => a.rotate_left(b & 31),
    }
}

fn compare(op: Compare, a: u32, b: u32) -> bool {
    match op {
        Compare::Equal => a == b,
        Compare::NotEqual => a != b,
        Compare::Less => a < b,
        Compare::AtMost => a <= b,
        Compare::SignedLess => (a as i32) < (b as i32),
    }
}
