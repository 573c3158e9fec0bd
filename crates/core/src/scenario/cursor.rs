//! A typed view of a parsed TOML tree that remembers where everything stands.
//!
//! Open a [`Table`], say with [`Table::allow`] which keys it may have (so that a misspelt key is reported
//! as such and not as a missing one), then read each key once. Every error is the mistake at its place.

#![allow(clippy::missing_errors_doc)]

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Checked, Mistake, Span};
use super::value::{FromToml, Reason, article, choose, nearest, wrong_type};
use crate::units::quote;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// What was read.
    pub value: T,
    /// Its place in the file.
    pub span: Span,
}

/// One way to fill a table with a `kind` key: its name, the keys it adds, and its reader.
pub struct Kind<T> {
    /// Value of `kind`.
    pub name: &'static str,
    /// Keys besides those that all kinds have.
    pub keys: &'static [&'static str],
    /// Reads them.
    pub read: fn(&Table) -> Checked<T>,
}

/// Where keys belong: the names of tables, and the keys of each.
pub type KnownKeys = &'static [(&'static str, &'static [&'static str])];

/// A table of the file, or the lack of one where all keys have defaults.
#[derive(Clone, Debug)]
pub struct Table<'t> {
    title: &'static str,
    span: Span,
    entries: Option<&'t DeTable<'t>>,
    known_keys: KnownKeys,
}

impl<'t> Table<'t> {
    /// The whole file; `known_keys` helps those who put a key in the wrong table.
    pub fn root(entries: &'t DeTable<'t>, known_keys: KnownKeys) -> Self {
        Table { title: "the file", span: 0..0, entries: Some(entries), known_keys }
    }

    /// Its header, or its braces.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The tables that `key` belongs in, for a key that stands in another; nothing if there is none.
    fn homes(&self, key: &str) -> String {
        let homes = self.known_keys.iter().filter(|(_, keys)| keys.contains(&key)).map(|(home, _)| *home);
        homes.collect::<Vec<_>>().join(" or ")
    }

    fn entry(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.entries?.get(key)
    }

    /// Where the value of `key` stands; the table itself if it has none.
    pub fn span_of(&self, key: &str) -> Span {
        self.entry(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Whether `key` is given.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// All keys with their places, in the file's order.
    fn keys(&self) -> Vec<At<&'t str>> {
        let entries = self.entries.into_iter().flatten();
        let mut keys: Vec<_> = entries.map(|(key, _)| At { value: &**key.get_ref(), span: key.span() }).collect();
        keys.sort_by_key(|key| key.span.start);
        keys
    }

    /// Whether the value of `key` is a string.
    pub fn is_string(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|value| value.get_ref().as_str().is_some())
    }

    /// Whether the value of `key` is a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|value| matches!(value.get_ref(), DeValue::Table(_)))
    }

    /// Whether the value of `key` is the string `word`.
    pub fn is(&self, key: &str, word: &str) -> bool {
        self.entry(key).is_some_and(|value| value.get_ref().as_str() == Some(word))
    }

    /// The value of `key` where it may be a word or a table; `None` if it is no string.
    pub fn word<T: FromToml>(&self, key: &str) -> Checked<Option<T>> {
        if self.is_string(key) { Ok(self.optional(key)?.map(|read| read.value)) } else { Ok(None) }
    }

    /// Refuses every key that is not in `known`, and names the nearest that is.
    pub fn allow(&self, known: &[&str]) -> Checked<()> {
        let unknown = self.keys().into_iter().find(|key| !known.contains(&key.value));
        let Some(At { value, span }) = unknown else { return Ok(()) };
        let problem = format!("unknown key {} in {}", quote(value), self.title);
        let list = known.join(", ");
        let homes = self.homes(value);
        let fix = match nearest(value, known) {
            Some(near) if homes.is_empty() => format!("did you mean `{near}`? Valid keys: {list}"),
            Some(near) => format!("it belongs in {homes}, or did you mean `{near}`? Valid keys here: {list}"),
            None if homes.is_empty() => format!("valid keys: {list}"),
            None => format!("it belongs in {homes}; valid keys here: {list}"),
        };
        Err(Mistake::new(&span, problem, fix))
    }

    /// Finds the kind that the table's `kind` key names (`default` without one), and refuses keys that
    /// neither `common` nor that kind has.
    pub fn kind<'k, T>(
        &self,
        kinds: &'k [Kind<T>],
        default: Option<&str>,
        common: &[&'static str],
    ) -> Checked<&'k Kind<T>> {
        let mut all = common.to_vec();
        for key in std::iter::once("kind").chain(kinds.iter().flat_map(|kind| kind.keys).copied()) {
            if !all.contains(&key) {
                all.push(key);
            }
        }
        self.allow(&all)?;

        let words: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
        let named = match (self.entry("kind"), default) {
            (Some(value), _) => choose(value.get_ref(), &words).map_err(|reason| self.blame("kind", reason))?,
            (None, Some(default)) => words.iter().position(|name| *name == default).unwrap_or_default(),
            (None, None) => return Err(self.lacks("kind", &format!("kind = \"{}\"", words[0]))),
        };
        let chosen = &kinds[named];
        let own = |key: &str| key == "kind" || common.contains(&key) || chosen.keys.contains(&key);
        let other = self.keys().into_iter().find(|key| !own(key.value));
        let Some(At { value, span }) = other else { return Ok(chosen) };
        let owners: Vec<_> = kinds
            .iter()
            .filter(|kind| kind.keys.contains(&value))
            .map(|kind| format!("kind = \"{}\"", kind.name))
            .collect();
        let problem = format!("`{value}` in {} has no meaning with kind = \"{}\"", self.title, chosen.name);
        Err(Mistake::new(&span, problem, format!("remove it, or write {}", owners.join(" or "))))
    }

    /// The value of `key`, if it is given.
    pub fn optional<T: FromToml>(&self, key: &str) -> Checked<Option<At<T>>> {
        let Some(value) = self.entry(key) else { return Ok(None) };
        let read = T::from_toml(value.get_ref()).map_err(|reason| self.blame(key, reason))?;
        Ok(Some(At { value: read, span: value.span() }))
    }

    /// The value of `key`, which must be given; `example` is a good line for it.
    pub fn required<T: FromToml>(&self, key: &str, example: &str) -> Checked<At<T>> {
        self.optional(key)?.ok_or_else(|| self.lacks(key, example))
    }

    /// The value of `key`, or `default`.
    pub fn or<T: FromToml>(&self, key: &str, default: T) -> Checked<T> {
        Ok(self.optional(key)?.map_or(default, |read| read.value))
    }

    /// What stands beside the word under `key` in `words`, if the key is given.
    pub fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Checked<Option<T>> {
        let Some(value) = self.entry(key) else { return Ok(None) };
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let index = choose(value.get_ref(), &names).map_err(|reason| self.blame(key, reason))?;
        Ok(Some(words[index].1))
    }

    /// The value of `key`, which must lie in `range` if it is given.
    pub fn optional_within<T>(&self, key: &str, range: RangeInclusive<T>) -> Checked<Option<T>>
    where
        T: FromToml + PartialOrd + Display,
    {
        let Some(value) = self.entry(key).map(Spanned::get_ref) else { return Ok(None) };
        let fix = || format!("write a value from {} to {}", range.start(), range.end());
        match T::from_toml(value) {
            Ok(read) if range.contains(&read) => Ok(Some(read)),
            Ok(read) => Err(self.blame(key, Reason::new(format!("{read} is outside the range"), fix()))),
            // The limits of the key, not those of its type.
            Err(reason) if T::WHOLE && value.as_integer().is_some() => {
                Err(self.blame(key, Reason::new(reason.problem, fix())))
            }
            Err(reason) => Err(self.blame(key, reason)),
        }
    }

    /// The value of `key`, or `default`; given, it must lie in `range`.
    pub fn within<T>(&self, key: &str, range: RangeInclusive<T>, default: T) -> Checked<T>
    where
        T: FromToml + PartialOrd + Display,
    {
        Ok(self.optional_within(key, range)?.unwrap_or(default))
    }

    /// The table under `key`; an empty one if there is none.
    pub fn table(&self, key: &str, title: &'static str) -> Checked<Table<'t>> {
        match self.entry(key) {
            None => Ok(Table { title, span: self.span.clone(), entries: None, known_keys: self.known_keys }),
            Some(value) => {
                self.open(key, value, title, &format!("write {title} and its keys below, or {key} = {{ .. }}"))
            }
        }
    }

    /// The tables of the list under `key`; `None` if there is no such key.
    pub fn tables(&self, key: &str, title: &'static str, example: &str) -> Checked<Option<Vec<Table<'t>>>> {
        let Some(value) = self.entry(key) else { return Ok(None) };
        let DeValue::Array(items) = value.get_ref() else {
            let mut reason = wrong_type(value.get_ref(), "a list of tables", example);
            reason.fix = format!("write {example}");
            return Err(self.blame(key, reason));
        };
        let fix = format!("write {example}");
        items.iter().map(|item| self.open(key, item, title, &fix)).collect::<Checked<_>>().map(Some)
    }

    fn open(&self, key: &str, value: &'t Spanned<DeValue<'t>>, title: &'static str, fix: &str) -> Checked<Table<'t>> {
        match value.get_ref() {
            DeValue::Table(entries) => {
                Ok(Table { title, span: value.span(), entries: Some(entries), known_keys: self.known_keys })
            }
            other => {
                let problem = format!("`{key}` in {}: expected a table, found {}", self.title, article(other));
                Err(Mistake::new(&value.span(), problem, fix))
            }
        }
    }

    /// The mistake that `reason` makes of the value of `key`.
    pub fn blame(&self, key: &str, reason: Reason) -> Mistake {
        Mistake::new(&self.span_of(key), format!("`{key}` in {}: {}", self.title, reason.problem), reason.fix)
    }

    /// The mistake that the value of `key` is `problem`.
    pub(super) fn wrong(&self, key: &str, problem: impl Into<String>, fix: impl Into<String>) -> Mistake {
        self.blame(key, Reason::new(problem, fix))
    }

    /// The mistake that `key` is not there.
    pub fn lacks(&self, key: &str, example: &str) -> Mistake {
        Mistake::new(&self.span, format!("`{key}` is missing in {}", self.title), format!("add {example}"))
    }
}
