// SPDX-License-Identifier: Apache-2.0
//! The path tags for source routing. A packet carries its path's tag in the TOS field, and routers have one route per
//! tag.

/// The maximum number of tagged paths to one destination at the same time. IPv4 routes of Linux 6.12 use three bits of
/// the TOS field (`IPTOS_TOS_MASK`, include/net/ip_fib.h). The value 0 of these bits means "any".
const TAGS: usize = 7;

/// The tagged paths to one destination, the least recently used path first.
#[derive(Debug, Clone, Default)]
pub struct Tags {
    recent: Vec<(u32, u8)>,
}

impl Tags {
    /// Returns the TOS value of a path, and whether this call has newly assigned the value to the path. If all tags are
    /// in use, an untagged path gets the tag of the least recently used path. The caller must set the routes of a path
    /// whose tag is new.
    pub fn tos(&mut self, path: u32) -> (u8, bool) {
        let (tag, fresh) = match self.recent.iter().position(|&(p, _)| p == path) {
            Some(i) => (self.recent.remove(i).1, false),
            None if self.recent.len() < TAGS => (self.recent.len() as u8 + 1, true),
            None => (self.recent.remove(0).1, true),
        };
        self.recent.push((path, tag));
        (4 * tag, fresh)
    }

    /// Returns the TOS value of a path. None means that the path has no tag.
    pub fn existing_tos(&self, path: u32) -> Option<u8> {
        self.recent.iter().find(|r| r.0 == path).map(|r| 4 * r.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_paths_have_tags_of_their_own_within_the_three_bits() {
        let mut tags = Tags::default();
        let first: Vec<u8> = (100..107).map(|p| tags.tos(p).0).collect();
        assert_eq!(first, [4, 8, 12, 16, 20, 24, 28]);
        assert!(first.iter().all(|t| t & 0x1c == *t));
        assert_eq!(tags.tos(100), (4, false));
    }

    #[test]
    fn the_eighth_takes_the_tag_that_has_rested_longest() {
        let mut tags = Tags::default();
        for path in 0..7 {
            tags.tos(path);
        }
        tags.tos(0);
        assert_eq!(tags.tos(7), (8, true));
        assert_eq!(tags.existing_tos(1), None);
        assert_eq!(tags.tos(1), (12, true));
    }
}
