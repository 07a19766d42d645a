//! Which file a path means, and which part of it is asked for. Opens nothing.

use std::path::{Component, Path, PathBuf};

/// Places by the prefix of the path, the longest first: `/media/=DIR/`, `/player.js=FILE`.
pub struct Places(Vec<(String, PathBuf)>);

impl Places {
    /// `PREFIX=PATH,PREFIX=PATH`; a prefix that ends in `/` is of a folder.
    pub fn parse(text: &str) -> Result<Places, String> {
        let mut found = vec![];
        for part in text.split(',') {
            match part.split_once('=') {
                Some((prefix, place)) if prefix.starts_with('/') && !place.is_empty() => {
                    found.push((prefix.to_owned(), PathBuf::from(place)));
                }
                _ => return Err(format!("--places {part}: not /PREFIX=PATH")),
            }
        }
        found.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(Places(found))
    }

    /// The file of a request's path, without its query; None where no place has it, or where it leads out of one.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (prefix, place) = self.0.iter().find(|(prefix, _)| {
            path == prefix.as_str() || prefix.ends_with('/') && path.starts_with(prefix.as_str())
        })?;
        if !prefix.ends_with('/') {
            return Some(place.clone());
        }
        let rest = match &path[prefix.len()..] {
            "" => "index.html",
            rest => rest,
        };
        let inside = Path::new(rest).components().all(|part| matches!(part, Component::Normal(_)));
        inside.then(|| place.join(rest))
    }
}

/// The media type by the file's name, as nginx is told it for the other services.
pub fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|name| name.to_str()) {
        Some("html") => "text/html",
        Some("css") => "text/css",
        Some("js" | "mjs") => "text/javascript",
        Some("png") => "image/png",
        Some("mpd") => "application/dash+xml",
        Some("m3u8") => "application/vnd.apple.mpegurl",
        Some("m4s") => "video/iso.segment",
        Some("mp4") => "video/mp4",
        _ => "application/octet-stream",
    }
}

/// First byte and number of bytes of `bytes=FIRST-LAST`, of a file of `size` bytes. None: no such part.
pub fn part(range: &str, size: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (first, last) {
        ("", last) => (size.saturating_sub(last.parse().ok()?), size.checked_sub(1)?),
        (first, "") => (first.parse().ok()?, size.checked_sub(1)?),
        (first, last) => (first.parse().ok()?, last.parse::<u64>().ok()?.min(size.checked_sub(1)?)),
    };
    (from <= to).then(|| (from, to - from + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<String> {
        let places = Places::parse("/=/www/,/media/=/m,/player.js=/lib/p.js").unwrap();
        places.file(path).map(|file| file.display().to_string())
    }

    #[test]
    fn the_longest_prefix_has_a_path() {
        assert_eq!(found("/"), Some("/www/index.html".into()));
        assert_eq!(found("/watch.js?x=1"), Some("/www/watch.js".into()));
        assert_eq!(found("/media/240/1.m4s"), Some("/m/240/1.m4s".into()));
        assert_eq!(found("/player.js"), Some("/lib/p.js".into()));
    }

    #[test]
    fn no_path_leads_out_of_its_place() {
        assert_eq!(found("/../etc/passwd"), None);
        assert_eq!(found("/media/../../x"), None);
        assert_eq!(found("/media//etc/passwd"), None);
    }

    #[test]
    fn places_that_make_no_sense_are_errors() {
        for text in ["", "www", "/a", "x=/y", "/a="] {
            assert!(Places::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_is_cut_at_the_files_end() {
        assert_eq!(part("bytes=0-9", 100), Some((0, 10)));
        assert_eq!(part("bytes=90-200", 100), Some((90, 10)));
        assert_eq!(part("bytes=90-", 100), Some((90, 10)));
        assert_eq!(part("bytes=-5", 100), Some((95, 5)));
        for wrong in ["bytes=100-", "bytes=5-4", "bytes=a-b", "items=0-1", "bytes=0-9,20-29"] {
            assert_eq!(part(wrong, 100), None, "{wrong}");
        }
        assert_eq!(part("bytes=0-9", 0), None);
    }
}
