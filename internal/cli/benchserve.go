package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/serve"

	"github.com/spf13/cobra"
)

// benchServe returns the command that drives a server.
func (a *app) benchServe() *cobra.Command {
	c := bench.LoadConfig{}
	var out string
	cmd := &cobra.Command{
		Use:         "serve [URL]",
		Annotations: command.Patient,
		Short:       "Measure a server under load",
		Long: "Keep streams of completions under way at a server of OpenAI's API and print what its clients see: the time to\n" +
			"the first token and between tokens, and tokens per second of all streams. A share of the requests is cancelled\n" +
			"after a random token, a share is read slowly; which ones, and the prompts, follow from the seed. Answers have\n" +
			"--decode tokens, whatever the model says. Slow readers do not count for the times between tokens.\n\n" +
			"Without URL, the embedded model is served by this process. The exit code is 1 if requests failed.",
		Example: "  atenia bench serve --streams 4 --requests 2\n" +
			"  atenia bench serve http://127.0.0.1:8080 --streams 64 --seconds 600 --cancel 0.3 --slow 0.1\n" +
			"  atenia bench serve http://127.0.0.1:8080 --json > before.json",
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	var seconds float64
	f.IntVarP(&c.Streams, "streams", "b", 8, "number of requests under way at once")
	f.Float64Var(&seconds, "seconds", 10, "time after which no request begins (0 = no limit, with --requests)")
	f.IntVar(&c.Requests, "requests", 0, "number of requests of each stream (0 = no limit)")
	f.IntVarP(&c.Prompt, "prompt", "p", 16, "number of words of a prompt")
	f.IntVarP(&c.Tokens, "decode", "n", 64, "number of tokens of an answer")
	f.Float64Var(&c.Cancel, "cancel", 0, "share of requests that are cancelled, 0 to 1")
	f.Float64Var(&c.Slow, "slow", 0, "share of requests that are read slowly, 0 to 1")
	f.DurationVar(&c.Pause, "pause", 20*time.Millisecond, "time that a slow reader waits after each event")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of prompts, cancellations and slow readers")
	f.StringVar(&c.Model, "model", "", "name of the model (default: the server's first)")
	f.StringVar(&c.Key, "api-key", "", "API `KEY` of the server")
	f.StringVar(&out, "out", "", "also write the result as JSON to `FILE`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(checkServeLoad(&c, seconds), checkOut(out)); err != nil {
			return err
		}
		c.Duration = time.Duration(seconds * float64(time.Second))
		fmt.Fprintln(a.progress(), "measuring …")
		r, err := runServeLoad(cmd.Context(), c, args)
		if err != nil {
			return err
		}
		print := a.printServeLoad
		if a.json {
			print = func(r *bench.LoadReport) error { return a.printJSON(r) }
		}
		if err := errors.Join(print(r), saveJSON(out, r)); err != nil {
			return err
		}
		if r.Failed > 0 {
			return fmt.Errorf("%s failed, the first with: %s", spelling.Count(r.Failed, "request"), r.Errors[0])
		}
		return nil
	}
	return cmd
}

// checkServeLoad rejects what would select a default of package load.
func checkServeLoad(c *bench.LoadConfig, seconds float64) error {
	for _, f := range []struct {
		name     string
		v, least int
	}{{"streams", c.Streams, 1}, {"requests", c.Requests, 0}, {"prompt", c.Prompt, 1}, {"decode", c.Tokens, 1}} {
		if f.v < f.least {
			return command.Usagef("--%s is %d, want %d or more", f.name, f.v, f.least)
		}
	}
	for _, f := range []struct {
		name string
		v    float64
	}{{"cancel", c.Cancel}, {"slow", c.Slow}} {
		if !(f.v >= 0 && f.v <= 1) {
			return command.Usagef("--%s is %g, want a share from 0 to 1", f.name, f.v)
		}
	}
	switch longest := math.MaxInt64 / float64(time.Second); {
	case !(seconds >= 0 && seconds < longest):
		return command.Usagef("--seconds is %g, want 0 or more", seconds)
	case seconds == 0 && c.Requests == 0:
		return command.Usagef("--seconds 0 has no end without --requests")
	case c.Pause <= 0:
		return command.Usagef("--pause is %v, want more than 0", c.Pause)
	}
	return nil
}

// runServeLoad drives the server of the arguments, or else one of its own.
func runServeLoad(ctx context.Context, c bench.LoadConfig, args []string) (r *bench.LoadReport, err error) {
	if len(args) == 1 {
		c.URL = args[0]
		return bench.Load(ctx, c)
	}
	s, err := serve.New(serve.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: headerBytes}
	ended := command.Serve(web, l)
	defer func() { _ = web.Close(); <-ended }()
	c.URL = "http://" + l.Addr().String()
	return bench.Load(ctx, c)
}

func (a *app) printServeLoad(r *bench.LoadReport) error {
	fmt.Fprintf(a.out, "%s, %.1f s: %s, %d completed, %d cancelled, %d refused, %d failed; %d read slowly\n",
		spelling.Count(r.Streams, "stream"), r.Seconds, spelling.Count(r.Requests, "request"), r.Completed, r.Cancelled, r.Refused, r.Failed, r.Slow)
	fmt.Fprintf(a.out, "%s, %.1f a second\n", spelling.Count(r.Tokens, "token"), r.Speed)
	w := table(a.out)
	fmt.Fprintln(w, "seconds\tmedian\tp99\tlongest\tp99 / median")
	for _, t := range []struct {
		name string
		bench.Times
	}{{"first token", r.First}, {"between tokens", r.Between}} {
		fmt.Fprintf(w, "%s\t%.3g\t%.3g\t%.3g\t%.1f\n", t.name, t.Median, t.P99, t.Max, t.Tail())
	}
	return w.Flush()
}
