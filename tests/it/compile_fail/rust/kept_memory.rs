//! What a kernel is given lives as long as the launch, and cannot be kept.
use std::cell::RefCell;

use oclave_kernel::{Global, Item, kernel};

std::thread_local! {
    static KEPT: RefCell<Option<Global<'static, u32>>> = const { RefCell::new(None) };
}

#[kernel]
pub fn keep(_item: Item<1>, x: Global<u32>) {
    KEPT.set(Some(x));
}

std::thread_local! {
    static ITEM: RefCell<Option<Item<'static, 1>>> = const { RefCell::new(None) };
}

#[kernel]
pub fn keep_item(item: Item<1>) {
    ITEM.set(Some(item));
}

type Words = &'static [u32];

#[kernel]
pub fn forever(_item: Item<1>, _x: Words) {}

fn main() {}
