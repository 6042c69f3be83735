// Package otlp sends spans to a collector of OpenTelemetry, as JSON over HTTP.
//
// [FromEnv] reads the usual variables, of which the endpoint turns it on, and
// [Config.Provider] makes the provider whose spans are sent:
//
//	spans of a request ─► queue (bounded) ─► batches ─► POST ENDPOINT/v1/traces
//
// The queue, the batches and the sampler are those of OpenTelemetry's SDK, with their
// variables: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER,
// OTEL_BSP_…. A span that finds the queue full is dropped: a collector that does not
// answer holds up no request. See docs/decisions/0014-traces.md for why the exporter is
// not OpenTelemetry's.
package otlp
