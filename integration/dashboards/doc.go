// Package dashboards holds a Grafana dashboard and alert rules for the metrics of package telemetry; and the tests that see to
// it that both ask for metrics and attributes that exist.
//
//	grafana.json  a dashboard for import; it asks for a Prometheus data source
//	alerts.yaml   alert rules for Prometheus, with thresholds to begin with
//
// Both use the names that Prometheus gives to metrics received over OTLP, or from a collector's Prometheus exporter, with
// suffixes for units and types, as is the default: dots are underscores, seconds are _seconds, counters end in _total.
package dashboards
