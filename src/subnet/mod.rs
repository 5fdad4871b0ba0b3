//! `SubnetManager`: requests and retries, sweep, SA, over any transport.
