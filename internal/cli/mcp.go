package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"atenia/internal/cli/command"
	"atenia/serve"

	"github.com/spf13/cobra"
)

func (a *app) mcp() *cobra.Command {
	var mf modelFlags
	c := &cobra.Command{
		Use:         "mcp [MODEL]...",
		Annotations: command.Patient, // a client that asks it to end is answered first
		Short:       "Offer models to an agent over MCP",
		Long: "Serve the Model Context Protocol on standard input and output, for an agent that starts this command: tools\n" +
			"generate, embed, explain and plan, resources atenia://models and atenia://decisions. Messages go to standard\n" +
			"error. The end of input or SIGTERM ends it. The first MODEL is the default; without any it is the embedded one.\n\n" +
			"An agent's configuration names the command: {\"mcpServers\": {\"atenia\": {\"command\": \"atenia\", \"args\": [\"mcp\"]}}}.\n" +
			"\"atenia serve\" offers the same at /mcp over HTTP.",
		Example: "  atenia mcp model.gguf\n" +
			"  cat requests.jsonl | atenia mcp",
		Args: cobra.ArbitraryArgs,
	}
	mf.registerRunning(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		level := slog.LevelWarn
		if a.quiet {
			level = slog.LevelError
		}
		log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
		cfg := serve.Config{Open: mf.prepared(a.env().Err), Idle: -1, Logger: log}
		for _, model := range args {
			cfg.Models = append(cfg.Models, namedModel(model))
		}
		s, err := serve.New(cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		err = s.MCP(c.Context(), io.NopCloser(a.in), unclosed{a.out})
		if i, ok := errors.AsType[*interruption](context.Cause(c.Context())); ok && i.signal != nil && errors.Is(err, i) {
			return nil // how clients end a server
		}
		return err
	}
	return c
}

// unclosed is a writer whose owner closes it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
