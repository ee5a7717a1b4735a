// SPDX-License-Identifier: Apache-2.0
//! The files in the output directory, which is the agent's working directory. If the host's disk is full, `write`
//! fails, but `close` does not fail (hostfs). The agent therefore checks each `write`, and writes all data before
//! `close`.

use crate::base::error::{Error, Result};
use leowarp_timeline::record::{header, Record};
use std::fs::File;
use std::io::Write;
use std::marker::PhantomData;

/// The size of a buffer. A write costs 10 us, and the first touch of a buffer's 16 pages costs 160 us.
const BUFFER_BYTES: usize = 64 * 1024;

/// A file that is written sequentially.
#[derive(Debug)]
pub struct Output {
    name: String,
    file: File,
    buffer: Vec<u8>,
}

impl Output {
    /// Creates the file, or empties it if it exists.
    pub fn create(name: &str) -> Result<Self> {
        let file = File::create(name).map_err(|source| Error::Output { file: name.into(), source })?;
        Ok(Self { name: name.into(), file, buffer: Vec::with_capacity(BUFFER_BYTES + 4096) })
    }

    /// Returns the buffer to which the caller may append bytes. After that, the caller must call [`Output::relieve`].
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer to the file if it is full.
    pub fn relieve(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the buffer to the file.
    ///
    /// # Errors If the host's disk refuses the data. The buffer is empty even after this error.
    pub fn flush(&mut self) -> Result<()> {
        let result = self.file.write_all(&self.buffer);
        self.buffer.clear();
        result.map_err(|source| Error::Output { file: self.name.clone(), source })
    }
}

/// A table of the run's results.
#[derive(Debug)]
pub struct Rows<R: Record> {
    output: Output,
    kind: PhantomData<R>,
}

impl<R: Record> Rows<R> {
    /// Creates the table. `extra` is added to the table's header.
    pub fn create(extra: &serde_json::Map<String, serde_json::Value>) -> Result<Self> {
        let mut output = Output::create(&format!("{}.rec", R::TABLE.table))?;
        output.buffer().extend(header(&R::TABLE, extra));
        Ok(Self { output, kind: PhantomData })
    }

    /// Adds a record to the buffer, and writes a full buffer.
    pub fn push(&mut self, record: &R) -> Result<()> {
        record.put(self.output.buffer());
        self.output.relieve()
    }

    /// Writes the buffered records.
    pub fn flush(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// Writes a whole file.
pub fn write_file(name: &str, content: &[u8]) -> Result<()> {
    let mut output = Output::create(name)?;
    output.buffer().extend(content);
    output.flush()
}
