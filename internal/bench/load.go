package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"atenia/internal/fault"
)

// A LoadConfig is a load. URL is required; the other fields have defaults.
type LoadConfig struct {
	URL      string        // of the server, without /v1
	Key      string        // API key; "" = none
	Model    string        // "" = default
	Streams  int           // requests under way at once; 0 = 8
	Requests int           // of each stream; 0 = until Duration is over
	Duration time.Duration // after which no request begins; 0 = 10 seconds if Requests is 0, else no limit
	Prompt   int           // words of a prompt; 0 = 16
	Tokens   int           // of an answer, whose end the model does not decide; 0 = 64
	Cancel   float64       // share of the requests that are cancelled after a random token, 0 to 1
	Slow     float64       // share of the requests that are read slowly, 0 to 1
	Pause    time.Duration // of a slow reader after each event; 0 = 20 ms
	Seed     uint64
}

// check sets defaults and returns every fault.
func (c *LoadConfig) check() error {
	var errs []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, fmt.Errorf("%q is no URL of a server, want one such as http://127.0.0.1:8080", c.URL))
	}
	for _, f := range []struct {
		name string
		v    *int
		or   int
	}{{"streams", &c.Streams, 8}, {"requests", &c.Requests, 0}, {"prompt", &c.Prompt, 16}, {"tokens", &c.Tokens, 64}} {
		if *f.v < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, want 0 or more", f.name, *f.v))
		} else if *f.v == 0 {
			*f.v = f.or
		}
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"cancel", c.Cancel}, {"slow", c.Slow}} {
		if !(f.v >= 0 && f.v <= 1) {
			errs = append(errs, fmt.Errorf("%s is %g, want a share from 0 to 1", f.name, f.v))
		}
	}
	for _, f := range []struct {
		name string
		v    *time.Duration
		or   time.Duration
	}{{"duration", &c.Duration, 0}, {"pause", &c.Pause, 20 * time.Millisecond}} {
		if *f.v < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, want 0 or more", f.name, *f.v))
		} else if *f.v == 0 {
			*f.v = f.or
		}
	}
	if c.Duration == 0 && c.Requests == 0 {
		c.Duration = 10 * time.Second
	}
	return errors.Join(errs...)
}

// Load loads the server and reports what its clients saw. Requests that are under way
// when the time is over are read to their end. A fault of one request is counted and
// the rest goes on; the error is one of the configuration, or ctx's.
func Load(ctx context.Context, c LoadConfig) (*LoadReport, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	l := &load{c: c, url: strings.TrimSuffix(c.URL, "/") + "/v1/completions", fast: client(c.Streams, 0), slow: client(c.Streams, slowBuffer)}
	defer l.fast.CloseIdleConnections()
	defer l.slow.CloseIdleConnections()
	l.start = time.Now()
	all := make([]samples, c.Streams)
	var g fault.Group
	for i := range all {
		g.Go(func() { l.stream(ctx, uint64(i), &all[i]) })
	}
	g.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report(&l.c, time.Since(l.start), all), nil
}

// slowBuffer is the kernel's buffer of a slow reader in bytes: with the usual one, the
// kernel would take whole answers for it.
const slowBuffer = 4 << 10

func client(streams, buffer int) *http.Client {
	d := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: streams, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := d.DialContext(ctx, network, address)
			if t, ok := c.(*net.TCPConn); ok && buffer > 0 {
				err = errors.Join(err, t.SetReadBuffer(buffer))
			}
			return c, err
		},
	}}
}

// A load is one run.
type load struct {
	c          LoadConfig
	url        string
	fast, slow *http.Client
	start      time.Time
}

// stream sends one request after the other.
func (l *load) stream(ctx context.Context, i uint64, s *samples) {
	r := rand.New(rand.NewPCG(l.c.Seed, i))
	for n := 0; ctx.Err() == nil; n++ {
		if l.c.Requests > 0 && n == l.c.Requests || l.c.Duration > 0 && time.Since(l.start) >= l.c.Duration {
			return
		}
		q := l.draw(r)
		if s.add(l.send(ctx, &q)) {
			continue
		}
		select { // a server that refuses is not asked in a loop
		case <-ctx.Done():
		case <-time.After(refusedPause):
		}
	}
}

const refusedPause = 100 * time.Millisecond

// words are those of prompts. They are frequent, so that a word is about a token.
var words = strings.Fields("once there was a little dog and the girl ran to see it in big red house with her mom but they said no so he went home they play all day was happy")

// draw draws the next request.
func (l *load) draw(r *rand.Rand) request {
	var b strings.Builder
	for i := range l.c.Prompt {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[r.IntN(len(words))])
	}
	q := request{prompt: b.String(), seed: int(r.Uint32() >> 1)}
	if r.Float64() < l.c.Cancel {
		q.cancel = 1 + r.IntN(l.c.Tokens)
	}
	q.slow = r.Float64() < l.c.Slow
	return q
}
