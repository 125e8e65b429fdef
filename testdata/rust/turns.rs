// SPDX-License-Identifier: BSD-2-Clause

// Threads that take turns, panics that are caught, and a child process. Each function of this crate executes the same instructions in
// each run. With the argument "child" it is its own child; "alone" makes no child, and no panics,
// which execute millions of instructions.
use std::process::{exit, Command};
use std::sync::mpsc::{channel, Sender};
use std::{env, panic, thread};

#[inline(never)]
fn collatz(mut value: u64) -> u64 {
    let mut steps = 0;
    while value != 1 {
        value = if value % 2 == 1 { 3 * value + 1 } else { value / 2 };
        steps += 1;
    }
    steps
}

#[inline(never)]
fn worker(number: u64, results: &Sender<u64>) {
    results.send(collatz(number + 26)).unwrap();
}

#[inline(never)]
fn threads() -> u64 {
    let (results, received) = channel();
    let mut sum = 0;
    for number in 1..4 {
        let sender = results.clone();
        let started = thread::spawn(move || worker(number, &sender));
        sum += received.recv().unwrap();
        started.join().unwrap();
    }
    sum
}

#[inline(never)]
fn fails(index: usize) -> u64 {
    let numbers = vec![1, 2, 3];
    numbers[index] + collatz(27)
}

#[inline(never)]
fn panics() -> usize {
    panic::set_hook(Box::new(|_| ()));
    (1..6).filter(|index| panic::catch_unwind(|| fails(*index)).is_err()).count()
}

#[inline(never)]
fn child() -> i32 {
    Command::new(env::current_exe().unwrap()).arg("child").status().unwrap().code().unwrap()
}

fn main() {
    if env::args().nth(1).as_deref() == Some("child") {
        println!("child {}", collatz(97));
        exit(3);
    }
    println!("turns {}", threads());
    if env::args().len() == 1 {
        println!("ended {} {}", panics(), child());
    }
}
