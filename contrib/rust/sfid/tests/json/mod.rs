// SPDX-License-Identifier: MIT
//! As much of JSON as vectors.json has. What is wrong ends the test.
#[derive(Debug)]
pub enum Json {
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    Bool(bool),
}

impl Json {
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
    pub fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Json::Text(t)) => t,
            other => panic!("{key}: {other:?} in {self:?}"),
        }
    }
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        match self.get(key)? {
            Json::Number(n) | Json::Text(n) => n.parse().ok(), // a text if it is above 2^53
            other => panic!("{key}: {other:?}"),
        }
    }
    pub fn list(&self, key: &str) -> &[Json] {
        match self.get(key) {
            Some(Json::List(l)) if !l.is_empty() => l,
            other => panic!("{key}: {other:?}"),
        }
    }
}

pub fn read(text: &str) -> Json {
    let mut rest = text;
    let value = value(&mut rest);
    assert!(rest.trim().is_empty());
    value
}

fn peek(rest: &mut &str) -> char {
    *rest = rest.trim_start();
    rest.chars().next().expect("more JSON")
}

fn take(rest: &mut &str, c: char) -> bool {
    let is = peek(rest) == c;
    if is {
        *rest = &rest[1..];
    }
    is
}

fn string(rest: &mut &str) -> String {
    assert!(take(rest, '"'));
    let mut out = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                *rest = &rest[at + 1..];
                return out;
            }
            '\\' => match chars.next().unwrap().1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'u' => {
                    let hex: String = (0..4).map(|_| chars.next().unwrap().1).collect();
                    out.push(char::from_u32(u32::from_str_radix(&hex, 16).unwrap()).unwrap());
                }
                c => out.push(c),
            },
            c => out.push(c),
        }
    }
    panic!("a string without an end");
}

fn value(rest: &mut &str) -> Json {
    match peek(rest) {
        '"' => Json::Text(string(rest)),
        '[' => {
            take(rest, '[');
            let mut list = vec![];
            while !take(rest, ']') {
                list.push(value(rest));
                take(rest, ',');
            }
            Json::List(list)
        }
        '{' => {
            take(rest, '{');
            let mut members = vec![];
            while !take(rest, '}') {
                let key = string(rest);
                assert!(take(rest, ':'));
                members.push((key, value(rest)));
                take(rest, ',');
            }
            Json::Object(members)
        }
        _ => {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.').unwrap();
            let (word, after) = rest.split_at(end);
            *rest = after;
            match word {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                n => Json::Number(n.into()),
            }
        }
    }
}
