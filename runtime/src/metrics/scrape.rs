//! Values that are asked for when somebody scrapes: how much waits, how much is cached.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::registry::Labels;

/// One value of a scrape.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    name: &'static str,
    help: &'static str,
    labels: Labels,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Gauge(f64),
    Counter(u64),
}

impl Sample {
    /// A value that goes up and down.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, labels: Vec<(&'static str, String)>, value: f64) -> Self {
        Self {
            name,
            help,
            labels,
            value: Value::Gauge(value),
        }
    }

    /// A value that only grows; `_total` is added to its name.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, labels: Vec<(&'static str, String)>, value: u64) -> Self {
        Self {
            name,
            help,
            labels,
            value: Value::Counter(value),
        }
    }
}

/// Gives values at each scrape. Must not block.
pub trait Source: Send + Sync + 'static {
    /// Hands over each value.
    fn samples(&self, add: &mut dyn FnMut(Sample));
}

impl<F: Fn(&mut dyn FnMut(Sample)) + Send + Sync + 'static> Source for F {
    fn samples(&self, add: &mut dyn FnMut(Sample)) {
        self(add);
    }
}

/// The sources of a manager.
#[derive(Default)]
pub(super) struct Sources(Mutex<Vec<Box<dyn Source>>>);

impl Sources {
    pub(super) fn add(&self, source: Box<dyn Source>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(source);
    }

    /// All values, each metric's together.
    fn samples(&self) -> BTreeMap<&'static str, Vec<Sample>> {
        let mut by_name: BTreeMap<&'static str, Vec<Sample>> = BTreeMap::new();
        let sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for source in sources.iter() {
            source.samples(&mut |sample| by_name.entry(sample.name).or_default().push(sample));
        }
        by_name
    }
}

/// Asks the sources when the registry is written.
pub(super) struct Scrape(std::sync::Arc<Sources>);

impl Scrape {
    pub(super) fn new(sources: std::sync::Arc<Sources>) -> Self {
        Self(sources)
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, samples) in self.0.samples() {
            let Some(first) = samples.first() else { continue };
            let metric_type = match first.value {
                Value::Gauge(_) => MetricType::Gauge,
                Value::Counter(_) => MetricType::Counter,
            };
            let mut metric = encoder.encode_descriptor(name, first.help, None, metric_type)?;
            for sample in &samples {
                let mut labelled = metric.encode_family(&sample.labels)?;
                match sample.value {
                    Value::Gauge(value) => labelled.encode_gauge(&value)?,
                    Value::Counter(value) => {
                        labelled.encode_counter::<prometheus_client::encoding::NoLabelSet, _, u64>(&value, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}
