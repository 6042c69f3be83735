package otlp

// Spans in the JSON form of OTLP: ids are hexadecimal, 64-bit numbers are strings, enums are
// numbers (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).

import (
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
)

type request struct {
	Resources []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource struct {
		Attributes []keyValue `json:"attributes"`
	} `json:"resource"`
	Scopes []scopeSpans `json:"scopeSpans"`
}

type scopeSpans struct {
	Scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	} `json:"scope"`
	Spans []span `json:"spans"`
}

type span struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	State      string     `json:"traceState,omitempty"`
	Parent     string     `json:"parentSpanId,omitempty"`
	Flags      uint32     `json:"flags"`
	Name       string     `json:"name"`
	Kind       int        `json:"kind"`
	Start      nanos      `json:"startTimeUnixNano"`
	End        nanos      `json:"endTimeUnixNano"`
	Attributes []keyValue `json:"attributes,omitempty"`
	Events     []event    `json:"events,omitempty"`
	Status     status     `json:"status"`
}

type event struct {
	Time       nanos      `json:"timeUnixNano"`
	Name       string     `json:"name"`
	Attributes []keyValue `json:"attributes,omitempty"`
}

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type keyValue struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

type nanos time.Time

// MarshalJSON implements [json.Marshaler].
func (t nanos) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(time.Time(t).UnixNano(), 10)), nil
}

// statusCodes are OTLP's numbers, which differ from those of the API.
var statusCodes = map[codes.Code]int{codes.Unset: 0, codes.Ok: 1, codes.Error: 2}

// encode returns the body of a request. All spans are of one provider, hence of one resource.
func encode(list []trace.ReadOnlySpan) ([]byte, error) {
	var r resourceSpans
	at := map[string]int{} // of scopes
	for i, s := range list {
		if i == 0 {
			r.Resource.Attributes = keyValues(s.Resource().Attributes())
		}
		scope := s.InstrumentationScope()
		k, known := at[scope.Name]
		if !known {
			k = len(r.Scopes)
			at[scope.Name] = k
			r.Scopes = append(r.Scopes, scopeSpans{})
			r.Scopes[k].Scope.Name, r.Scopes[k].Scope.Version = scope.Name, scope.Version
		}
		r.Scopes[k].Spans = append(r.Scopes[k].Spans, newSpan(s))
	}
	return json.Marshal(request{[]resourceSpans{r}})
}

// Bits of a span's flags that say whether its parent is in another process.
const (
	flagHasRemote = 0x100
	flagRemote    = 0x200
)

func newSpan(s trace.ReadOnlySpan) span {
	c, parent := s.SpanContext(), s.Parent()
	out := span{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), State: c.TraceState().String(), Flags: uint32(c.TraceFlags()) | flagHasRemote,
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: keyValues(s.Attributes()), Status: status{statusCodes[s.Status().Code], s.Status().Description},
	}
	if parent.SpanID().IsValid() {
		out.Parent = parent.SpanID().String()
	}
	if parent.IsRemote() {
		out.Flags |= flagRemote
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, event{nanos(e.Time), e.Name, keyValues(e.Attributes)})
	}
	return out
}

func keyValues(list []attribute.KeyValue) []keyValue {
	out := []keyValue{}
	for _, a := range list {
		out = append(out, keyValue{string(a.Key), anyValue(a.Value)})
	}
	return out
}

// anyValue returns a value in the form that says its type.
func anyValue(v attribute.Value) map[string]any {
	list := func(n int, at func(i int) attribute.Value) map[string]any {
		values := []any{}
		for i := range n {
			values = append(values, anyValue(at(i)))
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	}
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		l := v.AsStringSlice()
		return list(len(l), func(i int) attribute.Value { return attribute.StringValue(l[i]) })
	case attribute.INT64SLICE:
		l := v.AsInt64Slice()
		return list(len(l), func(i int) attribute.Value { return attribute.Int64Value(l[i]) })
	case attribute.FLOAT64SLICE:
		l := v.AsFloat64Slice()
		return list(len(l), func(i int) attribute.Value { return attribute.Float64Value(l[i]) })
	case attribute.BOOLSLICE:
		l := v.AsBoolSlice()
		return list(len(l), func(i int) attribute.Value { return attribute.BoolValue(l[i]) })
	}
	return map[string]any{"stringValue": v.String()}
}
