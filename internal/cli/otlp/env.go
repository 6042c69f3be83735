package otlp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Config says where spans go.
type Config struct {
	URL     string        // that spans are posted to
	Header  http.Header   // of every post
	Timeout time.Duration // for a batch, further attempts included. 0 = 10 seconds
	Gzip    bool
}

// prefix is of the exporter's variables. Each of them may also be for traces alone, and then
// counts more.
const prefix = "OTEL_EXPORTER_OTLP_"

// FromEnv returns what the variables of OpenTelemetry's specification ask for, nil if that is
// nothing: without OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT there are
// no spans. A value that cannot be followed is an error that names the variable.
func FromEnv(get func(string) string) (*Config, error) {
	base, whole := get(prefix+"ENDPOINT"), get(prefix+"TRACES_ENDPOINT")
	if base == "" && whole == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	switch v := get("OTEL_TRACES_EXPORTER"); v {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q, want otlp or none", v)
	}
	either := func(name string) string { return cmp.Or(get(prefix+"TRACES_"+name), get(prefix+name)) }
	c := &Config{URL: whole}
	if whole == "" {
		c.URL = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%sENDPOINT is %q, want a URL such as http://localhost:4318", prefix, cmp.Or(whole, base))
	}
	switch v := either("PROTOCOL"); v {
	case "", "http/json", "http/protobuf": // an endpoint of one takes the other
	default:
		return nil, fmt.Errorf("%sPROTOCOL is %q, want http/json: spans are sent as JSON over HTTP", prefix, v)
	}
	switch v := either("COMPRESSION"); v {
	case "", "none":
	case "gzip":
		c.Gzip = true
	default:
		return nil, fmt.Errorf("%sCOMPRESSION is %q, want gzip or none", prefix, v)
	}
	if v := either("TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms < 1 {
			return nil, fmt.Errorf("%sTIMEOUT is %q, want milliseconds", prefix, v)
		}
		c.Timeout = time.Duration(ms) * time.Millisecond
	}
	var err error
	c.Header, err = headers(either("HEADERS"))
	return c, err
}

// headers reads a list in the form of W3C's header baggage: name=value, with commas between.
// Its text is not repeated in errors: it has keys.
func headers(list string) (http.Header, error) {
	h := http.Header{}
	for part := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(name, " \r\n") || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("%sHEADERS has an entry that is not NAME=VALUE", prefix)
		}
		h.Add(name, value)
	}
	return h, nil
}
