package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/otlp"
	"atenia/internal/cli/toolbox"
	"atenia/serve"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// keyVar holds an API key, so that it is in no list of processes.
const keyVar = "ATENIA_API_KEY"

// serveFlags are the flags of serve, which are also the keys of its file.
type serveFlags struct {
	c        serve.Config
	host     string
	port     int
	keyFile  string
	insecure bool
	maxBody  sizeFlag
	cache    sizeFlag
	disk     sizeFlag
	drain    int
	config   string
	adapters []string
	mcp      string
	result   sizeFlag
	draft    string
}

func (s *serveFlags) register(f *pflag.FlagSet) {
	o := &s.c.Open
	f.StringVar(&s.host, "host", "127.0.0.1", "listen at `ADDRESS`; any but a loopback address needs a key or --insecure")
	f.IntVar(&s.port, "port", 8080, "listen at this port (0 = a free one)")
	f.StringArrayVar(&s.c.Keys, "api-key", nil, "accept requests with the API `KEY`; may be given more than once (also "+keyVar+")")
	f.StringVar(&s.keyFile, "api-key-file", "", "accept requests with the API keys in `FILE`, one a line")
	f.BoolVar(&s.insecure, "insecure", false, "listen beyond this machine without a key")
	f.StringArrayVar(&s.c.Hosts, "allow-host", nil, "answer requests that are addressed to `NAME`, besides localhost and addresses; * = any")
	f.StringArrayVar(&s.c.Origins, "cors", nil, "let pages of `ORIGIN` use the server, such as https://example.com, or app:// of all of a scheme; * = any")
	f.StringArrayVar(&s.c.Aliases, "alias", nil, "also answer to `NAMES=MODEL`, such as 'gpt-4o,claude-*=qwen'; repeatable")
	f.Var(&s.maxBody, "max-body", "longest body of a request (0 = 32 MiB)")
	f.IntVar(&s.c.MaxRequests, "max-requests", 0, "requests under way at once, waiting ones included; others get status 429 (0 = 256)")
	f.DurationVar(&s.c.Timeout, "timeout", 0, "longest time of a request, such as 10m (0 = 1h)")
	f.DurationVar(&s.c.WriteTimeout, "write-timeout", 0, "time in which a client must read an event of a stream (0 = 30s)")
	f.DurationVar(&s.c.Ping, "ping", 0, "after so long a silence in a stream, send a sign of life (0 = 15s, -1s = never)")
	f.DurationVar(&s.c.Idle, "idle", 0, "unload a model that nothing used for so long, except for the first (0 = 5m, -1s = never)")
	f.IntVar(&s.drain, "drain-seconds", 30, "after SIGTERM or Ctrl-C, let requests finish for so long")
	f.BoolVar(&s.c.StrictFields, "strict-fields", false, "refuse requests with tools that the server does not have, in place of leaving them out (X-Unsupported-Tools)")
	f.BoolVar(&s.c.LogPrompts, "log-prompts", false, "log what clients and models say")
	f.BoolVar(&o.Observe.Counters, "debug", false, "count what steps do, in /metrics: instructions and work for the threads")
	f.StringVar(&s.config, "config", "", "read flags and models from the TOML `FILE`; those of the command line win")
	f.StringArrayVar(&s.adapters, "adapter", nil, "keep the LoRA adapter `NAME=PATH` beside the first model's weights; clients ask for NAME; repeatable")
	f.StringVar(&s.c.AdapterDir, "adapter-dir", "", "let clients load and unload the LoRA adapters in the folder `DIR`")
	f.StringVar(&s.mcp, "mcp", "", "call tools of the MCP servers in a JSON `FILE` for requests of /v1/responses that have them")
	f.StringSliceVar(&s.c.Tools.Approve, "mcp-approve", nil,
		"ask clients before calls: request (as they want; the default), always, never, or all but `TOOLS` (SERVER or SERVER/TOOL)")
	f.IntVar(&s.c.Tools.Calls, "mcp-calls", 0, "largest number of calls for one request (0 = 32)")
	f.DurationVar(&s.c.Tools.Time, "mcp-time", 0, "longest time of one call (0 = 1m)")
	f.Var(&s.result, "mcp-result", "largest size of a result; more is cut (0 = 64 KiB)")
	f.IntVarP(&o.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.IntVarP(&o.Context, "ctx", "c", 0, "context length in tokens, prompt and answer together (0 = the model's; default: that, at most 32768, or less for memory)")
	f.IntVar(&o.Slots, "slots", 0, "answers that a model computes at once; further ones wait (0 = 4)")
	f.IntVar(&o.BatchTokens, "batch-tokens", 0, "maximum number of tokens per step (0 = 512)")
	f.StringVar(&o.CacheType, "kv-type", "", "element type of the KV cache: f32, f16 or q8_0 (default: f16 if weights are quantized, else f32)")
	f.Var(&s.cache, "cache-size", "memory of a model's keys and values (0 = whole contexts of all slots; with --budget, what weights leave)")
	f.StringVar(&o.Speculate, "speculate", "", "verify drafted tokens, several a step: auto (where it pays), lookup, draft or off (default: auto)")
	f.StringVar(&s.draft, "draft", "", "draft tokens of the first model with a smaller one in `FILE` of the same tokens, or early (first layers); same text")
	f.StringVar(&o.CacheDir, "cache-dir", "", "keep keys and values of prompts in `FOLDER`, also after a restart (prompts can be read there)")
	f.Var(&s.disk, "cache-disk", "largest size of the folder of --cache-dir (0 = 4 GiB)")
	f.StringVar(&s.c.Store, "store", "", "keep responses and conversations in `FOLDER` until clients delete them (what was said can be read there)")
	f.StringVar(&s.c.SlotSavePath, "slot-save-path", "", "let clients save and restore slots in files of `FOLDER`")
	f.StringVar(&o.Pack, "pack", "", "where to keep weights repacked for the kernels: auto, off, memory or disk (default: auto)")
	f.Var((*budgetFlag)(&o.Budget), "budget", "memory limit of all models together, such as ram=8GiB; it is divided between those in use")
	f.StringArrayVar(&o.Placement.Pins, "pin", nil, pinText)
	offloading(f, &o.Placement)
	f.BoolVar(&o.NoMmap, "no-mmap", false, "read models into memory instead of mapping their files")
	gptqZeros(f, &o.GPTQZeros)
}

func (a *app) serve() *cobra.Command {
	var sf serveFlags
	c := &cobra.Command{
		Use:         "serve [MODEL]...",
		Annotations: command.Patient,
		Short:       "Serve models over HTTP",
		Long: "Answer clients of OpenAI, Anthropic, Ollama and MCP until SIGTERM or Ctrl-C; then finish what runs. MODEL is\n" +
			"a path, or NAME=PATH; clients ask for the name. The first one also answers to the name default. Models are\n" +
			"loaded when they are wanted.\n\n" +
			"Without --host, only programs of this machine can connect. Beyond it, clients need a key: --api-key, the\n" +
			"variable " + keyVar + " or --api-key-file. Web pages can use the server only with --cors.\n\n" +
			"A file for --config has flags as keys and models as a list:\n\n" +
			"  port = 8080\n" +
			"  budget = \"ram=8GiB\"\n" +
			"  models = [\"small=qwen.gguf\", \"large=llama.gguf\"]\n\n" +
			"With --mcp, requests of /v1/responses may have tools of the type mcp: the server calls them and goes on with the\n" +
			"answer. Each call is in the log, and waits for the client's approval unless --mcp-approve and the request say\n" +
			"otherwise.\n\n" +
			"With OTEL_EXPORTER_OTLP_ENDPOINT, spans of requests are sent to a collector of OpenTelemetry.\n\n" +
			"See docs/serving.md for the endpoints.",
		Example: "  atenia serve\n" +
			"  atenia serve model.gguf --port 8000\n" +
			"  atenia serve small=qwen.gguf large=llama.gguf --budget ram=8GiB\n" +
			"  atenia serve model.gguf --mcp mcp.json --mcp-approve always\n" +
			"  atenia serve model.gguf --host 0.0.0.0 --api-key-file keys.txt",
		Args: cobra.ArbitraryArgs,
	}
	sf.register(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := sf.complete(c.Flags(), args); err != nil {
			return err
		}
		sf.c.Logger = a.serverLog()
		sf.c.Open.PackDir, sf.c.Open.Placement.ProfileDir = cacheFolder(), cacheFolder()
		box, err := sf.openTools(c.Context(), a.env().Err)
		if err != nil {
			return err
		}
		end, err := sf.trace()
		if err != nil {
			return errors.Join(err, box.Close())
		}
		err = a.listen(c.Context(), &sf)
		end()
		return errors.Join(err, box.Close())
	}
	return c
}

// openTools reads the file of --mcp. The servers in it are started or connected to when a request
// wants their tools first, and again after they ended: the models are served without them.
func (s *serveFlags) openTools(ctx context.Context, errw io.Writer) (*toolbox.Box, error) {
	if s.mcp == "" {
		if len(s.c.Tools.Approve) > 0 {
			return nil, command.Usagef("--mcp-approve needs --mcp")
		}
		return &toolbox.Box{}, nil
	}
	servers, err := toolbox.ReadConfig(s.mcp)
	if err != nil {
		return nil, err
	}
	info, _ := debug.ReadBuildInfo()
	box, err := toolbox.Open(ctx, servers, toolbox.Options{Version: versionOf(info).Version, Err: errw, Tokens: tokensFile(), Lazy: true})
	if err != nil {
		return nil, err
	}
	s.c.Tools.Servers, s.c.Tools.Bytes = box, int(s.result)
	return box, nil
}

// trace sends spans where the variables of OpenTelemetry say, if they do. end sends what is
// queued.
func (s *serveFlags) trace() (end func(), err error) {
	c, err := otlp.FromEnv(os.Getenv)
	if c == nil || err != nil {
		return func() {}, err
	}
	info, _ := debug.ReadBuildInfo()
	p := c.Provider(versionOf(info).Version, s.c.Logger)
	s.c.Tracer = p
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), spansTime)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			s.c.Logger.Warn("spans are lost", "err", err)
		}
	}, nil
}

// spansTime is how long the end of the server waits for the collector.
const spansTime = 5 * time.Second

// serverLog returns the log of the server: lines of text, or of JSON.
func (a *app) serverLog() *slog.Logger {
	w := a.env().Err
	o := &slog.HandlerOptions{}
	if a.json {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// complete reads the file and the keys, and checks what the flags say together.
func (s *serveFlags) complete(f *pflag.FlagSet, models []string) error {
	if s.config != "" {
		listed, err := readServeFile(s.config, f)
		if err != nil {
			return err
		}
		if len(models) == 0 {
			models = listed
		}
	}
	s.c.WholeContext = f.Changed("ctx") && s.c.Open.Context == 0
	for _, m := range models {
		s.c.Models = append(s.c.Models, namedModel(m))
	}
	if err := s.nameAdapters(); err != nil {
		return err
	}
	if k := os.Getenv(keyVar); k != "" {
		s.c.Keys = append(s.c.Keys, k)
	}
	if s.keyFile != "" {
		keys, err := readKeys(s.keyFile)
		if err != nil {
			return err
		}
		s.c.Keys = append(s.c.Keys, keys...)
	}
	s.c.MaxBody, s.c.Open.CacheBytes = int64(s.maxBody), int64(s.cache)
	s.c.Open.CacheDisk = int64(s.disk)
	if !isLoopback(s.host) {
		if len(s.c.Keys) == 0 && !s.insecure {
			return command.Usagef("--host %s lets other machines connect: give --api-key, %s or --api-key-file, or --insecure if everybody there may use the models", s.host, keyVar)
		}
		if net.ParseIP(s.host) == nil {
			s.c.Hosts = append(s.c.Hosts, s.host)
		}
	}
	return nil
}

// nameAdapters gives the adapters and the draft model to the first model.
func (s *serveFlags) nameAdapters() error {
	list, err := namedAdapters(s.adapters)
	if (len(list) > 0 || s.draft != "") && len(s.c.Models) == 0 {
		s.c.Models = []serve.Model{{}}
	}
	if len(list) > 0 {
		s.c.Models[0].Adapters = list
	}
	if s.draft != "" {
		s.c.Models[0].Draft = s.draft
	}
	return err
}

// namedAdapters reads NAME=PATH.
func namedAdapters(list []string) (out []atenia.Adapter, err error) {
	for _, a := range list {
		name, path, ok := strings.Cut(a, "=")
		if !ok || name == "" || path == "" {
			return nil, command.Usagef("--adapter %s: want NAME=PATH", a)
		}
		out = append(out, atenia.Adapter{Name: name, Path: path})
	}
	return out, nil
}

// isLoopback reports whether only programs of this machine reach an address.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// namedModel splits NAME=PATH. A path that exists is a path, whatever is in it.
func namedModel(s string) serve.Model {
	name, path, ok := strings.Cut(s, "=")
	if _, err := os.Stat(s); !ok || err == nil || name == "" || strings.ContainsAny(name, `/\`) {
		return serve.Model{Path: s}
	}
	return serve.Model{Name: name, Path: path}
}

const (
	headerTimeout = 10 * time.Second // of a request's header
	idleTimeout   = 2 * time.Minute  // of a connection between requests
	headerBytes   = 64 << 10
)

// listen serves until ctx ends, then drains.
func (a *app) listen(ctx context.Context, sf *serveFlags) error {
	l, err := net.Listen("tcp", net.JoinHostPort(sf.host, strconv.Itoa(sf.port)))
	if err != nil {
		return err
	}
	s, err := serve.New(sf.c)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	web := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(sf.c.Logger.Handler(), slog.LevelWarn),
	}
	ended := command.Serve(web, l)
	fmt.Fprintf(a.env().Err, "atenia: serving at http://%s\n", l.Addr())
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = drain(a.env().Err, s, web, sf.drain)
	}
	if e := s.Close(); err == nil {
		err = e
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// drain lets requests finish for so many seconds, or until another signal.
func drain(errw io.Writer, s *serve.Server, web *http.Server, seconds int) error {
	fmt.Fprintf(errw, "atenia: finishing what runs, for at most %d s\n", seconds)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	if err := s.Drain(ctx); err != nil {
		fmt.Fprintf(errw, "atenia: %v\n", err)
		return web.Close() // what still runs is cut off
	}
	return web.Shutdown(ctx)
}
