package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/blob"

	"github.com/spf13/cobra"
)

// cacheCommand returns "atenia cache".
func cacheCommand(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "List, verify and clean a persistent cache",
		Long: "Manage a persistent cache, a folder of tensors and gradients that outlive a run. An entry is a .bin file, a\n" +
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
		Long:    "List every entry with its size, file size, codec and last use.",
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
	_, err := fmt.Fprintf(env.Out, "%s, %s in files\n", spelling.Count(len(entries), "entry"), spelling.Count(files, "byte"))
	return err
}

func verify(env *command.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "verify DIR",
		Short:   "Verify the entries of a cache",
		Long:    "Read every entry and check its length, checksums and owner. The exit code is 3 if an entry is broken.",
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
				err = errors.Join(err, fmt.Errorf("%d of %s broken; remove the files: %w", broken, spelling.Count(len(entries), "entry"), command.ErrVerify))
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
	_, err := fmt.Fprintf(env.Out, "%s, %d broken\n", spelling.Count(len(entries), "entry"), broken)
	return err
}

func collect(env *command.Env) *cobra.Command {
	var g collection
	c := &cobra.Command{
		Use:   "gc DIR",
		Short: "Remove entries until a cache fits a quota",
		Long: "Remove the least recently used entries until their files fit the quota, and files that killed writers left\n" +
			"behind. Entries that a checkpoint names stay: the one in the folder around the cache, those that were saved\n" +
			"with this cache, and those given with --keep. So do entries whose files cannot be read: see \"atenia cache\n" +
			"verify\".",
		Example: "  atenia cache gc DIR --quota 20GiB --keep checkpoints/last --dry-run",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&g.quota, "quota", "", "maximum size of the files, such as 20GiB (default: no limit)")
	c.Flags().StringArrayVar(&g.keep, "keep", nil, "keep entries that the checkpoint in the folder `DIR` references (may be repeated)")
	c.Flags().BoolVar(&g.named, "remove-named", false, "also remove entries that checkpoints name, except those of --keep; they cannot be restored afterwards")
	c.Flags().BoolVar(&g.dryRun, "dry-run", false, "print what would be removed without removing it")
	c.RunE = func(_ *cobra.Command, args []string) error {
		r, err := g.collect(args[0])
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(r)
		}
		for _, e := range r.Removed {
			fmt.Fprintf(env.Out, "%s %q, %s, used %s\n", e.Kind.Folder(), e.Key, spelling.Count(e.FileBytes, "byte"), e.LastUse.UTC().Format(time.DateTime))
		}
		for _, l := range r.Leftovers {
			fmt.Fprintln(env.Out, l)
		}
		verb := "removed"
		if g.dryRun {
			verb = "would remove"
		}
		fmt.Fprintf(env.Out, "%s %s and %s, %s; %s left\n", verb, spelling.Count(len(r.Removed), "entry"), spelling.Count(len(r.Leftovers), "leftover"), spelling.Count(r.Freed, "byte"), spelling.Count(r.Left, "byte"))
		if r.Over {
			fmt.Fprintln(env.Err, "atenia: warning: what must stay is above the quota")
		}
		return nil
	}
	return c
}
