// SPDX-License-Identifier: BSD-2-Clause
// Strings, an enumeration and recursion of Rust. Each call writes its values as a line of JSON, with 0 as thread.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Small,
    Large,
}

struct Item {
    name: String,
    count: u32,
    ratio: f64,
    kind: Kind,
}

#[inline(never)]
#[no_mangle]
pub fn price(item: &Item, factor: i64, text: &str, on: bool) -> i64 {
    let kind = if item.kind == Kind::Small { "Small" } else { "Large" };
    print!("{{\"tid\": 0, \"event\": \"price\", \"item.name\": \"{}\", \"item.count\": {}, ", item.name, item.count);
    print!("\"item.ratio\": {}, \"item.kind\": \"{}\", \"factor\": {}, ", item.ratio, kind, factor);
    println!("\"text\": \"{}\", \"on\": {}}}", text, on);
    let result = item.count as i64 * factor + text.len() as i64 + on as i64;
    println!("{{\"tid\": 0, \"event\": \"price/return\", \"$return\": {}}}", result);
    result
}

#[inline(never)]
#[no_mangle]
pub fn title(item: &Item, n: u64) -> String {
    println!("{{\"tid\": 0, \"event\": \"title\", \"n\": {}}}", n);
    let rest = if n == 0 { String::new() } else { title(item, n - 1) };
    let result = format!("{}-{}{}", item.name, n, rest);
    println!("{{\"tid\": 0, \"event\": \"title/return\", \"$return\": \"{}\"}}", result);
    result
}

#[inline(never)]
#[no_mangle]
pub fn refer(name: &String, short: &&str, count: &mut u32, kind: &Kind, letter: char) -> usize {
    let word = if *kind == Kind::Small { "Small" } else { "Large" };
    print!("{{\"tid\": 0, \"event\": \"refer\", \"name\": \"{}\", \"short\": \"{}\", ", name, short);
    println!("\"count\": {}, \"kind\": \"{}\", \"letter\": \"{}\"}}", count, word, letter);
    *count += name.len() as u32;
    let result = name.capacity() - name.capacity() + short.len() + *count as usize;
    println!("{{\"tid\": 0, \"event\": \"refer/return\", \"$return\": {}}}", result);
    result
}

fn main() {
    let mut item = Item { name: "teapot".to_string(), count: 3, ratio: 1.25, kind: Kind::Large };
    price(&item, -7, "hello", true);
    item.kind = Kind::Small;
    item.name.push_str(" with a longer name");
    price(&item, 1 << 40, "", false);
    title(&item, 3);
    let mut count = 5;
    refer(&item.name, &"short", &mut count, &item.kind, 'x');
    refer(&item.name, &"", &mut count, &Kind::Large, 'y');
}
