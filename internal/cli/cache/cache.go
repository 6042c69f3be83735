package cache

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"atenia/internal/cli/command"
	"atenia/tier/blob"

	"github.com/spf13/cobra"
)

// Command returns "atenia cache".
func Command(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Look at, check and clean up a persistent cache",
		Long: "A persistent cache is a folder with tensors and gradients that outlive a run. An entry is a .bin file, a\n" +
			".meta file and, unless another program wrote it, a .sum file with the owner and strong checksums.",
		Example: "  atenia cache ls DIR\n  atenia cache verify DIR\n  atenia cache gc DIR --quota 20GiB --keep checkpoints/last",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return command.Usagef("cache needs one of ls, verify and gc")
		},
	}
	c.AddCommand(list(env), verify(env), collect(env))
	return c
}

func list(env *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "ls DIR",
		Short:   "List the entries of a cache",
		Long:    "Ls prints every entry: how many bytes it has, how many its file has, how it is encoded, when it was last used.",
		Example: "  atenia cache ls DIR\n  atenia cache ls DIR --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			entries, err := entriesOf(args[0])
			if err != nil {
				return err
			}
			if *env.JSON {
				return env.PrintJSON(listResult{entries})
			}
			return printEntries(env, entries)
		},
	}
}

// A listResult is the form for programs.
type listResult struct {
	Entries []blob.Info `json:"entries"`
}

func printEntries(env *command.Env, entries []blob.Info) error {
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	var files uint64
	fmt.Fprintln(w, "kind\tkey\tbytes\tfile\tcodec\tlast use\t")
	for _, e := range entries {
		files += e.FileBytes
		if e.Broken != "" {
			fmt.Fprintf(w, "%s\t%q\t\t\t\t\t%s\n", e.Kind.Folder(), e.Key, e.Broken)
			continue
		}
		note := ""
		if e.Foreign {
			note = "owner unknown"
		}
		fmt.Fprintf(w, "%s\t%q\t%d\t%d\t%v\t%s\t%s\n", e.Kind.Folder(), e.Key, e.Bytes, e.FileBytes, e.Codec, e.LastUse.UTC().Format(time.DateTime), note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Out, "%d entries, %d bytes in files\n", len(entries), files)
	return err
}

func verify(env *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check every entry of a cache",
		Long: "Verify reads every entry and compares length, checksums and owner. It ends with exit code 3 if one is not\n" +
			"what was put there.",
		Example: "  atenia cache verify DIR",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			entries, broken, err := verifyFolder(c.Context(), args[0])
			if err != nil {
				return err
			}
			if *env.JSON {
				err = env.PrintJSON(verifyResult{entries, broken})
			} else {
				err = printBroken(env, entries, broken)
			}
			if broken > 0 {
				err = errors.Join(err, fmt.Errorf("%d of %d entries are broken; remove their files: %w", broken, len(entries), command.ErrVerify))
			}
			return err
		},
	}
}

// A verifyResult is the form for programs.
type verifyResult struct {
	Entries []blob.Info `json:"entries"`
	Broken  int         `json:"broken"`
}

func printBroken(env *command.Env, entries []blob.Info, broken int) error {
	for _, e := range entries {
		if e.Broken != "" {
			fmt.Fprintf(env.Out, "%s %q in %s: %s\n", e.Kind.Folder(), e.Key, e.Path, e.Broken)
		}
	}
	_, err := fmt.Fprintf(env.Out, "%d entries, %d broken\n", len(entries), broken)
	return err
}

func collect(env *command.Env) *cobra.Command {
	var g collection
	c := &cobra.Command{
		Use:   "gc DIR",
		Short: "Remove entries until a cache is small enough",
		Long: "Gc removes the entries that were used least lately until their files take no more than the quota, and\n" +
			"files that writers left behind that were killed. What a checkpoint given with --keep names stays. An entry\n" +
			"whose files cannot be read stays, too: see \"atenia cache verify\".",
		Example: "  atenia cache gc DIR --quota 20GiB --keep checkpoints/last --dry-run",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&g.quota, "quota", "", "what the files may take, such as 20GiB (none = any number of bytes)")
	c.Flags().StringArrayVar(&g.keep, "keep", nil, "keep what the checkpoint in the folder `DIR` names; may be given again for others")
	c.Flags().BoolVar(&g.dryRun, "dry-run", false, "only say what would be removed")
	c.RunE = func(_ *cobra.Command, args []string) error {
		r, err := g.collect(args[0])
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(r)
		}
		for _, e := range r.Removed {
			fmt.Fprintf(env.Out, "%s %q, %d bytes, used %s\n", e.Kind.Folder(), e.Key, e.FileBytes, e.LastUse.UTC().Format(time.DateTime))
		}
		for _, l := range r.Leftovers {
			fmt.Fprintln(env.Out, l)
		}
		verb := "removed"
		if g.dryRun {
			verb = "would remove"
		}
		fmt.Fprintf(env.Out, "%s %d entries and %d leftovers, %d bytes; %d bytes stay\n", verb, len(r.Removed), len(r.Leftovers), r.Freed, r.Left)
		if r.Over {
			fmt.Fprintln(env.Err, "atenia: warning: what must stay is above the quota")
		}
		return nil
	}
	return c
}
