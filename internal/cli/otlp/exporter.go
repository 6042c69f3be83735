package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Provider returns a provider that sends its spans. What goes wrong with that is told to log.
// Shut it down in the end: that sends what is queued.
func (c *Config) Provider(version string, log *slog.Logger) *trace.TracerProvider {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans are lost", "err", err) }))
	about, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "atenia"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // what the environment says counts more
	if err != nil {
		otel.Handle(err)
	}
	return trace.NewTracerProvider(trace.WithBatcher(c.exporter()), trace.WithResource(about))
}

// An exporter posts batches of spans. It implements [trace.SpanExporter].
type exporter struct {
	c      Config
	client http.Client
}

func (c *Config) exporter() *exporter {
	e := &exporter{c: *c}
	e.c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	// A collector that answers with the address of another one does not get the header,
	// which may have a key.
	e.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return e
}

// Times between attempts: doubled each time. What a collector asks for counts more.
const firstPause = 250 * time.Millisecond

// ExportSpans posts spans, again if the collector asks for it or does not answer, until the
// time for a batch is over.
func (e *exporter) ExportSpans(ctx context.Context, list []trace.ReadOnlySpan) error {
	if len(list) == 0 {
		return nil
	}
	body, err := encode(list)
	if err != nil {
		return err
	}
	if e.c.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, e.c.Timeout)
	defer cancel()
	for pause := firstPause; ; pause *= 2 {
		again, err := e.post(ctx, body)
		if err == nil || again < 0 {
			return err
		}
		select {
		case <-time.After(max(pause, again)):
		case <-ctx.Done():
			return err
		}
	}
}

// post posts a body once. again is how long the collector wants to be left alone before the next
// attempt, less than 0 if there should be none.
func (e *exporter) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, e.c.URL, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for name, values := range e.c.Header {
		q.Header[name] = values
	}
	q.Header.Set("Content-Type", "application/json")
	if e.c.Gzip {
		q.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(q)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	const enough = 64 << 10 // for the connection to be used again
	_, _ = io.CopyN(io.Discard, resp.Body, enough)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return 0, nil
	}
	err = fmt.Errorf("%s: %s", e.c.URL, resp.Status)
	switch resp.StatusCode { // those that the specification says may be tried again
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(0, min(seconds, 3600))) * time.Second, err
	}
	return -1, err
}

// Shutdown implements [trace.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
