//! Tests of `order`, which are no part of the model that loom runs.

use super::{Order, Rank};
use crate::event::Promise;
use std::sync::Arc;

#[test]
fn in_order_commands_stay_behind_the_last() {
    let order = Order::new(true);
    assert!(order.lets_pass(Rank::Plain) && order.lets_pass(Rank::AfterAll));
    let (a, b) = (Promise::new(false), Promise::new(false));
    let (first, before) = order.enter(Rank::Plain, &a);
    assert!(before.is_empty());
    assert!(!order.lets_pass(Rank::Plain));
    let (second, before) = order.enter(Rank::Plain, &b);
    assert!(matches!(before.as_slice(), [last] if Arc::ptr_eq(last, &a)));
    order.leave(first);
    assert!(!order.lets_pass(Rank::Plain));
    assert_eq!(order.in_the_way().len(), 1);
    order.leave(second);
    assert!(order.lets_pass(Rank::Plain) && order.in_the_way().is_empty());
}

#[test]
fn out_of_order_commands_pass_but_for_barriers() {
    let order = Order::new(false);
    let promises: Vec<_> = (0..4).map(|_| Promise::new(false)).collect();
    let (plain, _) = order.enter(Rank::Plain, &promises[0]);
    assert!(order.lets_pass(Rank::Plain) && !order.lets_pass(Rank::AfterAll));
    let (barrier, before) = order.enter(Rank::Barrier { after_all: true }, &promises[1]);
    assert_eq!(before.len(), 1);
    assert!(!order.lets_pass(Rank::Plain));
    let (behind, before) = order.enter(Rank::Plain, &promises[2]);
    assert!(matches!(before.as_slice(), [one] if Arc::ptr_eq(one, &promises[1])));
    assert_eq!(order.enter(Rank::AfterAll, &promises[3]).1.len(), 3);
    order.leave(barrier);
    assert!(order.lets_pass(Rank::Plain));
    order.leave(plain);
    order.leave(behind);
    assert_eq!(order.held().len(), 1);
}
