//! Writes a table as Parquet from a list of its columns. It knows nothing of what is in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::error::{Error, Result};

/// One value; None is NULL.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Int(Option<i64>),
    Float(Option<f64>),
    Text(Option<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Text,
}

/// One column: its name (with the unit as its ending), what it is, and how a row gives it.
pub struct Column<R> {
    pub name: &'static str,
    pub kind: Kind,
    pub about: &'static str,
    pub get: fn(&R) -> Value,
}

/// Rows of one group; the table holds no more of them in memory.
const GROUP: usize = 1 << 16;

/// A table being written. It has its name only when [`Table::finish`] was called.
pub struct Table<R: 'static> {
    columns: &'static [Column<R>],
    path: PathBuf,
    unfinished: PathBuf,
    writer: SerializedFileWriter<File>,
    rows: Vec<R>,
}

impl<R> Table<R> {
    pub fn create(path: &Path, columns: &'static [Column<R>]) -> Result<Self> {
        let unfinished = path.with_extension("parquet.tmp");
        let file = File::create(&unfinished).map_err(|e| Error::write(&unfinished, e))?;
        let fields = columns
            .iter()
            .map(|c| field(c.name, c.kind).map(Arc::new))
            .collect::<std::result::Result<_, _>>();
        let schema = fields.and_then(|fields| Type::group_type_builder("row").with_fields(fields).build());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("narrows".to_owned())
            .build();
        let writer = schema
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)))
            .map_err(|e| Error::write(&unfinished, e))?;
        Ok(Table { columns, path: path.to_owned(), unfinished, writer, rows: Vec::new() })
    }

    pub fn push(&mut self, row: R) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() >= GROUP {
            self.flush().map_err(|e| Error::write(&self.unfinished, e))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> std::result::Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in self.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            let values = self.rows.iter().map(column.get);
            match writer.untyped() {
                ColumnWriter::Int64ColumnWriter(w) => {
                    let values = values.map(|v| if let Value::Int(v) = v { v } else { None });
                    let (values, levels) = split(values);
                    w.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::DoubleColumnWriter(w) => {
                    let values =
                        values.map(
                            |v| {
                                if let Value::Float(v) = v {
                                    v.filter(|f| f.is_finite())
                                } else {
                                    None
                                }
                            },
                        );
                    let (values, levels) = split(values);
                    w.write_batch(&values, Some(&levels), None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let values = values.map(|v| if let Value::Text(v) = v { v } else { None });
                    let (values, levels) = split(values);
                    let values: Vec<ByteArray> =
                        values.into_iter().map(|v: String| v.into_bytes().into()).collect();
                    w.write_batch(&values, Some(&levels), None)?;
                }
                _ => return Err(ParquetError::General(format!("column {} has no such type", column.name))),
            }
            writer.close()?;
        }
        group.close()?;
        self.rows.clear();
        Ok(())
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        let path = self.unfinished.clone();
        self.flush().map_err(|e| Error::write(&path, e))?;
        self.writer.close().map_err(|e| Error::write(&path, e))?;
        fs::rename(&path, &self.path).map_err(|e| Error::write(&self.path, e))
    }
}

impl<R> Table<R> {
    /// Removes the unfinished file.
    pub fn discard(self) {
        drop(self.writer);
        // It is named as unfinished; that it stays is no harm.
        let _ = fs::remove_file(&self.unfinished);
    }
}

/// The values that are there, and for each row whether it has one.
fn split<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut there = Vec::new();
    let levels = values
        .map(|value| match value {
            Some(value) => {
                there.push(value);
                1
            }
            None => 0,
        })
        .collect();
    (there, levels)
}

fn field(name: &str, kind: Kind) -> std::result::Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Int => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}
