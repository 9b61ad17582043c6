//! Where blobs lie: in pages that are emptied when half of them is waste, so that what is dropped really is given back.

/// Where a blob lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) page: u32,
    pub(crate) offset: u32,
}

/// Pages of blobs. Each blob begins with the slot that it belongs to and the room that it has.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pages: Vec<Option<Page>>,
    free: Vec<u32>,
    /// The page that small blobs are appended to.
    open: Option<u32>,
    room: usize,
}

#[derive(Debug)]
struct Page {
    data: Vec<u8>,
    live: usize,
}

/// Slot and room of each blob, as two little-endian u32.
pub(crate) const HEAD: usize = 8;
const LARGEST: usize = 256 << 10;
const SMALLEST: usize = 4 << 10;
/// A blob of more than this part of a page has one of its own.
const LARGE: usize = 8;
/// The slot of a blob that is waste.
const NOBODY: u32 = u32::MAX;

impl Pages {
    /// The blob at a place, its head included; longer than what was stored where its room is.
    pub(crate) fn blob(&self, place: Place) -> &[u8] {
        let data = &self.page(place.page).data[place.offset as usize..];
        &data[..room_of(data)]
    }

    /// Stores a blob, whose head is written here.
    pub(crate) fn store(&mut self, slot: u32, blob: &mut [u8]) -> Place {
        write_head(blob, slot, blob.len());
        self.append(blob)
    }

    /// Writes a blob over one that has room for it; false where it has not, or far too much.
    pub(crate) fn overwrite(&mut self, place: Place, slot: u32, blob: &mut [u8]) -> bool {
        let Some(page) = self.pages[place.page as usize].as_mut() else {
            return false;
        };
        let data = &mut page.data[place.offset as usize..];
        let room = room_of(data);
        if blob.len() > room || blob.len() * 2 < room {
            return false;
        }
        write_head(blob, slot, room);
        data[..blob.len()].copy_from_slice(blob);
        true
    }

    /// Gives a blob's room back. A page that is now half empty must be [emptied](Self::empty).
    pub(crate) fn free(&mut self, place: Place) -> Option<u32> {
        let page = self.pages[place.page as usize].as_mut()?;
        let data = &mut page.data[place.offset as usize..];
        let room = room_of(data);
        write_head(data, NOBODY, room);
        page.live -= room;
        self.room -= room;
        if page.live == 0 {
            self.drop_page(place.page);
            return None;
        }
        (page.live * 2 < page.data.len()).then_some(place.page)
    }

    /// Takes what is left in a page out of it; each blob is to be stored anew.
    pub(crate) fn empty(&mut self, page: u32) -> Emptied {
        let data = self.pages[page as usize].take().map(|page| {
            self.room -= page.live;
            page.data
        });
        self.drop_page(page);
        Emptied {
            data: data.unwrap_or_default(),
            at: 0,
        }
    }

    /// All pages in use, by number.
    pub(crate) fn all(&self) -> Vec<u32> {
        let numbers = 0..u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        numbers.filter(|page| self.pages[*page as usize].is_some()).collect()
    }

    /// What the blobs take, in bytes.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// What the pages take, in bytes.
    #[cfg(test)]
    pub(crate) fn allocated(&self) -> usize {
        self.pages.iter().flatten().map(|page| page.data.capacity()).sum()
    }

    fn append(&mut self, blob: &[u8]) -> Place {
        // The first pages of a small kind are small.
        let size = (self.room / 4).next_power_of_two().clamp(SMALLEST, LARGEST);
        self.room += blob.len();
        if blob.len() > size / LARGE {
            return self.add_page(blob, blob.len());
        }
        if let Some(number) = self.open
            && let Some(page) = self.pages[number as usize].as_mut()
            && page.data.capacity() - page.data.len() >= blob.len()
        {
            let offset = page.data.len();
            page.data.extend_from_slice(blob);
            page.live += blob.len();
            return Place {
                page: number,
                offset: u32::try_from(offset).expect("a page is smaller than 4 GB"),
            };
        }
        let place = self.add_page(blob, size);
        self.open = Some(place.page);
        place
    }

    fn add_page(&mut self, blob: &[u8], size: usize) -> Place {
        let mut data = Vec::with_capacity(size);
        data.extend_from_slice(blob);
        let page = Page { data, live: blob.len() };
        let number = match self.free.pop() {
            Some(number) => {
                self.pages[number as usize] = Some(page);
                number
            }
            None => {
                self.pages.push(Some(page));
                u32::try_from(self.pages.len() - 1).expect("pages hold objects, and those are counted in u32")
            }
        };
        Place {
            page: number,
            offset: 0,
        }
    }

    fn drop_page(&mut self, page: u32) {
        self.pages[page as usize] = None;
        self.free.push(page);
        if self.open == Some(page) {
            self.open = None;
        }
    }

    fn page(&self, page: u32) -> &Page {
        self.pages[page as usize]
            .as_ref()
            .expect("a place is forgotten when its blob is freed")
    }
}

/// The blobs of a page that was taken apart.
pub(crate) struct Emptied {
    data: Vec<u8>,
    at: usize,
}

impl Emptied {
    /// The next blob and the slot that it belongs to.
    pub(crate) fn next(&mut self) -> Option<(u32, &mut [u8])> {
        loop {
            let data = self.data.get(self.at..).filter(|data| data.len() >= HEAD)?;
            let (slot, room) = (u32_at(data, 0), room_of(data));
            let start = self.at;
            self.at += room;
            if slot != NOBODY {
                return Some((slot, &mut self.data[start..start + room]));
            }
        }
    }
}

fn write_head(blob: &mut [u8], slot: u32, room: usize) {
    let room = u32::try_from(room).expect("an object is smaller than 4 GB");
    blob[..4].copy_from_slice(&slot.to_le_bytes());
    blob[4..HEAD].copy_from_slice(&room.to_le_bytes());
}

fn room_of(data: &[u8]) -> usize {
    u32_at(data, 4) as usize
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    let bytes = data[at..].first_chunk().expect("a head of 8 bytes");
    u32::from_le_bytes(*bytes)
}
