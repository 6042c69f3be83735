package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// libraries holds the folders of C nodes and the trusted libraries.
type libraries struct {
	folders, trusted []string
	timeout          time.Duration    // of a request to a process, zero: the usual one
	catalog          *amp.Catalog     // what types found; nil: the plan needs no library, or its events were read
	plugins          *amp.CLAPCatalog // likewise, of CLAP plug-ins
	rate             float64          // hertz of the graph, on which the latency of plug-ins depends
}

// flags adds what commands that make nodes have in common.
func (l *libraries) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&l.folders, "nodes", nil, "`PATH` of a library of C nodes, a CLAP plug-in, or a folder with some (may be repeated)")
	f.StringArrayVar(&l.trusted, "trust", nil, "`PATH` of a library, plug-in or folder whose nodes run in this process, not one of their own (may be repeated)")
}

// The hidden commands that children of this program are started with.
const (
	hostCommand = "node-host"
	scanCommand = "node-scan"
	clapCommand = "clap-scan"
)

// config returns where C nodes are looked for: in the folders of the flags, of
// AMP_NODE_PATH, and the usual ones.
func (l *libraries) config(env *command.Env) (amp.CatalogConfig, error) {
	self, err := os.Executable()
	if err != nil {
		return amp.CatalogConfig{}, err
	}
	cfg := amp.CatalogConfig{
		Scan:    amp.ScanConfig{Folders: amp.Folders(l.folders, env.Getenv), Command: []string{self, "flow", scanCommand}},
		Isolate: amp.ProcessConfig{Command: []string{self, "flow", hostCommand}, Timeout: l.timeout},
		Trusted: l.trusted,
	}
	if env.Cache != "" {
		cfg.Scan.Cache = filepath.Join(env.Cache, "flow-nodes")
	}
	return cfg, nil
}

// types returns the catalogue for a plan: the shipped types, and those of C
// libraries if it uses others. Close ends the processes started for them.
func (l *libraries) types(ctx context.Context, env *command.Env, p *graph.Plan) (t node.Table, close func() error, err error) {
	t, close = flow.ShippedTypes(), func() error { return nil }
	unknown := func() bool {
		return slices.ContainsFunc(p.Nodes, func(n graph.Node) bool { _, ok := t.Lookup(n.Type); return !ok })
	}
	if !unknown() {
		return t, close, nil
	}
	cfg, err := l.config(env)
	if err != nil {
		return t, close, err
	}
	c, err := amp.OpenCatalog(ctx, cfg)
	if err != nil {
		return t, close, err
	}
	l.catalog = c
	for _, f := range c.Result().Libraries {
		if why := refusal(&f); why != "" {
			fmt.Fprintf(env.Err, "warning: %s: %s\n", f.Path, why)
		}
	}
	close = func() error {
		plugins := l.plugins
		for _, e := range l.events() { // what a command that failed, or one without a report, did not print
			fmt.Fprintf(env.Err, "%s: %s\n", e.Path, e.Text)
		}
		if plugins != nil {
			return errors.Join(c.Close(), plugins.Close())
		}
		return c.Close()
	}
	if t = append(t, c.Types()...); !unknown() {
		return t, close, nil
	}
	if l.plugins, err = l.findPlugins(ctx, env); err != nil {
		return t, close, errors.Join(err, close())
	}
	for _, f := range l.plugins.Files() {
		if f.Err != nil {
			fmt.Fprintf(env.Err, "warning: %v\n", f.Err)
		}
	}
	return append(t, l.plugins.Types()...), close, nil
}

// findPlugins finds CLAP plug-ins.
func (l *libraries) findPlugins(ctx context.Context, env *command.Env) (*amp.CLAPCatalog, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return amp.OpenCLAPCatalog(ctx, amp.CLAPConfig{Folders: amp.CLAPFolders(l.folders, env.Getenv), Command: []string{self, "flow", clapCommand},
		Isolate: amp.ProcessConfig{Command: []string{self, "flow", hostCommand}, Timeout: l.timeout}, SampleRate: l.rate, Trusted: l.trusted})
}

// types returns the catalogue for the source's plan.
func (s *source) types(ctx context.Context, env *command.Env, p *graph.Plan) (node.Table, func() error, error) {
	s.libraries.rate = s.rate
	return s.libraries.types(ctx, env, p)
}

// refusal says why a library gives no types, "" if it gives them.
func refusal(l *amp.LibraryInfo) string {
	switch {
	case l.Err != nil && l.Quarantined:
		return "quarantined until the file changes: " + l.Err.Error()
	case l.Quarantined:
		return "quarantined until the file changes: it crashed or hung"
	case l.Err != nil:
		return l.Err.Error()
	case l.Manifest != nil && l.Manifest.ABI[0] != amp.Major:
		return fmt.Sprintf("node ABI version %d, this program has %d", l.Manifest.ABI[0], amp.Major)
	}
	return ""
}

// saveStates writes the states of plug-ins, each given as NODE=FILE.
func (l *libraries) saveStates(list []string) error {
	for _, s := range list {
		name, path, ok := strings.Cut(s, "=")
		if !ok || l.plugins == nil {
			return command.Usagef("--save-state %s: want NODE=FILE, with a CLAP plug-in as the node", s)
		}
		b, err := l.plugins.State(name)
		if err != nil {
			return err
		}
		if err := durable.WriteFile(path, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	return nil
}

// A libraryEvent is what happened in a library while a graph ran.
type libraryEvent struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// events returns what happened in the libraries, once: violations and messages of nodes, and the condition of separate
// processes.
func (l *libraries) events() (all []libraryEvent) {
	if l.catalog == nil {
		return nil
	}
	running := l.catalog.Running()
	if l.plugins != nil {
		running = append(running, l.plugins.Running()...)
	}
	l.catalog, l.plugins = nil, nil
	for _, x := range running {
		add := func(format string, args ...any) {
			all = append(all, libraryEvent{x.Path, fmt.Sprintf(format, args...)})
		}
		for _, e := range x.Events {
			add("%v", e)
		}
		if s := x.Status; x.Isolated {
			if s.Crashes > 0 {
				add("its process crashed (%s)", spelling.Count(s.Crashes, "time"))
			}
			if s.Timeouts > 0 {
				add("%s without an answer in time", spelling.Count(s.Timeouts, "call"))
			}
			if s.Lost > 0 {
				add("%s that its nodes never saw", spelling.Count(s.Lost, "call"))
			}
			if s.Refused != nil {
				add("its process runs without the real-time scheduling of this one: %v", s.Refused)
			}
			switch {
			case s.Quarantined:
				add("quarantined: three faults in a minute, and the back-off has not ended")
			case s.Suspended:
				add("suspended: it did not answer, and the back-off has not ended")
			}
		}
	}
	return all
}

// A libraryRow is a library as nodes prints it with --json.
type libraryRow struct {
	Path        string   `json:"path"`
	Source      string   `json:"source"`
	Types       []string `json:"types"`
	Quarantined bool     `json:"quarantined,omitempty"`
	Error       string   `json:"error,omitempty"`
}

// found returns the libraries that a scan finds, and their table of types.
func (l *libraries) found(ctx context.Context, env *command.Env) (node.Table, []libraryRow, error) {
	cfg, err := l.config(env)
	if err != nil {
		return nil, nil, err
	}
	c, err := amp.OpenCatalog(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	rows := []libraryRow{}
	for _, f := range c.Result().Libraries {
		r := libraryRow{Path: f.Path, Source: f.Source.String(), Types: []string{}, Quarantined: f.Quarantined}
		if f.Err != nil {
			r.Error = f.Err.Error()
		}
		if f.Manifest != nil {
			for _, n := range f.Manifest.Nodes {
				r.Types = append(r.Types, n.Type)
			}
		}
		rows = append(rows, r)
	}
	t, err := c.Types(), c.Close()
	if err != nil {
		return nil, nil, err
	}
	plugins, err := l.findPlugins(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	faults := plugins.Describe(ctx)
	for _, f := range plugins.Files() {
		r := libraryRow{Path: f.Path, Source: amp.CLAPName, Types: []string{}}
		if f.Err != nil {
			r.Error = f.Err.Error()
		}
		for _, p := range f.Plugins {
			r.Types = append(r.Types, p.ID)
		}
		for _, err := range faults {
			if e, ok := errors.AsType[*amp.CLAPRefusedError](err); ok && e.Path == f.Path {
				r.Error = strings.Join(slices.DeleteFunc([]string{r.Error, e.Plugin + ": " + e.Text}, func(s string) bool { return s == "" }), "\n    ")
			}
		}
		rows = append(rows, r)
	}
	return append(t, plugins.Types()...), rows, plugins.Close()
}

func printLibraries(w io.Writer, rows []libraryRow) error {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s  (%s): %s\n", r.Path, r.Source, dash(strings.Join(r.Types, ", ")))
		if r.Quarantined {
			b.WriteString("    quarantined: it crashed or hung; it is asked again when the file changes\n")
		}
		if r.Error != "" {
			fmt.Fprintf(&b, "    %s\n", r.Error)
		}
	}
	if len(rows) == 0 {
		b.WriteString("no libraries of C nodes: --nodes, AMP_NODE_PATH and docs/c-nodes.md say where they are looked for\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scanning is "nodes scan".
func scanning(env *command.Env) *cobra.Command {
	var l libraries
	c := &cobra.Command{
		Use:   "scan",
		Short: "Find libraries of C nodes and CLAP plug-ins",
		Long: "Find libraries (*.amp.so, .dylib, .dll) and plug-ins (*.clap) and print their node types. A library without a\n" +
			"manifest is loaded in a process of its own and queried; the answer is cached until the file changes.",
		Example: "  atenia flow nodes scan --nodes ./build\n  AMP_NODE_PATH=/opt/nodes atenia flow nodes scan --json",
		Args:    cobra.NoArgs,
	}
	l.flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		_, rows, err := l.found(c.Context(), env)
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(rows)
		}
		return printLibraries(env.Out, rows)
	}
	return c
}

// children are the commands that this program starts itself with: one runs
// nodes for its parent, one reads the types of a library.
func children() []*cobra.Command {
	return []*cobra.Command{
		{Use: hostCommand, Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return amp.Serve(amp.CLAP()) }},
		{Use: scanCommand + " LIBRARY", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
			if code := amp.ServeManifest(args[0]); code != 0 {
				return &command.ExitError{Code: code, Text: "the library was rejected"}
			}
			return nil
		}},
		{Use: clapCommand + " FILE RATE [ID...]", Hidden: true, DisableFlagParsing: true, Args: cobra.MinimumNArgs(2), RunE: func(_ *cobra.Command, args []string) error {
			if code := amp.ServeCLAPScan(args); code != 0 {
				return &command.ExitError{Code: code, Text: "the plug-ins were rejected"}
			}
			return nil
		}},
	}
}

// closing joins the error of closing to that of a command.
func closing(err *error, close func() error) { *err = errors.Join(*err, close()) }
