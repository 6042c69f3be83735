package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"atenia/internal/cli/command"
	"atenia/internal/engine"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/spelling"
	"atenia/internal/store/blob"

	"github.com/spf13/cobra"
)

// A call is the flags that all commands below share.
type call struct {
	env   *command.Env
	cache string
	gpu   string
}

// checkpointCommand returns the command.
func checkpointCommand(env *command.Env) *cobra.Command {
	a := &call{env: env}
	c := &cobra.Command{
		Use:   "checkpoint",
		Short: "Save, verify and restore where tensors are",
		Long: "Save, verify and restore checkpoints. A checkpoint is a folder that records the tier of every tensor, the\n" +
			"tier it was wanted in and the plan, with a cache of the tensors' bytes.",
		Example: "  atenia checkpoint save model.gguf saved --ram 4GiB\n  atenia checkpoint verify saved\n  atenia checkpoint restore saved --lazy",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return command.Usagef("checkpoint needs one of save, inspect, verify, restore and gc")
		},
	}
	c.PersistentFlags().StringVar(&a.cache, "cache", "", "folder of the tensor cache (default: cache in the checkpoint's folder)")
	c.PersistentFlags().StringVar(&a.gpu, "gpu", "auto", "whether a GPU computes that can be restored to: true, false or auto")
	c.AddCommand(a.save(), a.inspect(), a.verify(), a.restore(), a.gc())
	return c
}

func (a *call) open(c *cobra.Command, dir string) (*checkpoint.Folder, error) {
	if dir == "" {
		return nil, command.Usagef("DIR is empty")
	}
	if a.gpu == "auto" {
		return checkpoint.OpenFolder(dir, a.cache, engine.Computes()) // a device on which nothing computes has nothing to restore to
	}
	gpu, err := strconv.ParseBool(a.gpu)
	if err != nil {
		return nil, command.Usagef("--gpu is %q, want true, false or auto", a.gpu)
	}
	return checkpoint.OpenFolder(dir, a.cache, gpu)
}

// print writes a result as JSON or as text.
func (a *call) print(v any, text func(w io.Writer)) error {
	if *a.env.JSON {
		return a.env.PrintJSON(v)
	}
	w := tabwriter.NewWriter(a.env.Out, 0, 8, 2, ' ', 0)
	text(w)
	return w.Flush()
}

func (a *call) save() *cobra.Command {
	var s checkpoint.Saving
	ram := ""
	c := &cobra.Command{
		Use:   "save [MODEL] DIR",
		Short: "Save a checkpoint of a model or of a cache",
		Long: "Save a checkpoint of all tensors of MODEL, or of the tensors in the cache without MODEL. Bytes that the\n" +
			"cache already has are not written again. An earlier checkpoint stays valid until the new one is complete. If the\n" +
			"cache has other bytes of a tensor, such as those of an earlier version of MODEL, nothing is replaced: say\n" +
			"--overwrite, or name another DIR or --cache. Bytes that a checkpoint needs stay with --overwrite, too, until\n" +
			"\"atenia checkpoint gc\" finds that no checkpoint names them.\n\n" +
			"\"atenia run MODEL --checkpoint DIR\" continues from it. With --in-place the bytes stay in the model's files,\n" +
			"which must stay where they are then.",
		Example: "  atenia checkpoint save model.gguf saved --ram 4GiB\n  atenia checkpoint save saved --cache old/cache",
		Args:    cobra.RangeArgs(1, 2),
	}
	f := c.Flags()
	f.StringVar(&ram, "ram", "", "place tensors in RAM up to this size, such as 4GiB, and the others on the SSD")
	f.BoolVar(&s.InPlace, "in-place", false, "with MODEL: refer to its files instead of copying tensors to the cache")
	f.BoolVar(&s.Overwrite, "overwrite", false, "with MODEL: replace other bytes that the cache has of a tensor and that no checkpoint needs")
	f.Uint64Var(&s.Created, "created", 0, "creation time to record, in seconds since 1970 (0 = now)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if f.Changed("ram") {
			if err := s.SetRAM(ram); err != nil {
				return command.Usagef("--ram: %w", err)
			}
		}
		if s.InPlace && len(args) != 2 {
			return command.Usagef("--in-place needs MODEL")
		}
		if len(args) == 2 {
			if s.Model = args[0]; s.Model == "" {
				return command.Usagef("MODEL is empty")
			}
		}
		dir, err := a.open(c, args[len(args)-1])
		if err != nil {
			return err
		}
		r, err := dir.Save(c.Context(), s)
		if errors.Is(err, blob.ErrExists) {
			return fmt.Errorf("%w; nothing was replaced: name another DIR or --cache, or say --overwrite", err)
		}
		if err != nil {
			return err
		}
		return a.print(r, func(w io.Writer) {
			fmt.Fprintf(w, "%s, %s: %d in RAM, %d on the SSD; %d written to the cache\n", spelling.Count(r.Tensors, "tensor"), command.Size(r.Bytes), r.RAM, r.SSD, r.Written)
			for _, n := range r.NotDurable {
				fmt.Fprintf(w, "not durable: %q: %s\n", n.ID, n.Why)
			}
		})
	}
	return c
}

func (a *call) inspect() *cobra.Command {
	c := &cobra.Command{
		Use:     "inspect DIR",
		Short:   "Print a checkpoint and how it fits this machine",
		Example: "  atenia checkpoint inspect saved",
		Long:    "Print the entries of a checkpoint, what has drifted on this machine, and the warm start it suggests.",
		Args:    cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		dir, err := a.open(c, args[0])
		if err != nil {
			return err
		}
		l, err := dir.Inspect()
		if err != nil {
			return err
		}
		return a.print(l, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %s, %s, created_unix %d\n\n", l.Dir, spelling.Count(len(l.Entries), "entry"), command.Size(l.Bytes), l.Created)
			for _, e := range l.Entries {
				bytes, desired, summary := "no bytes", "-", ""
				if e.Blob != nil {
					bytes = e.Blob.Key
				} else if e.File != "" {
					bytes = "in " + e.File
				}
				if e.Desired != nil {
					desired = e.Desired.Lower()
				}
				if e.Summary != nil {
					summary = *e.Summary
				}
				fmt.Fprintf(w, "  %s\t%s\t%s\twanted in %s\t%s\t%s\n", e.ID, e.Tier.Lower(), command.Size(e.Bytes), desired, bytes, summary)
			}
			fmt.Fprintf(w, "\ndrift on this machine: %d\n", len(l.Drift))
			for _, d := range l.Drift {
				fmt.Fprintf(w, "  %s\t%s\n", d.ID, d.Text)
			}
			fmt.Fprintf(w, "\n%s\n", l.WarmStart.Summary)
			for _, d := range l.WarmStart.Decisions {
				fmt.Fprintf(w, "  %s\t%v\t%s\n", d.ID, d.Action, d.Reason)
			}
		})
	}
	return c
}

func (a *call) verify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Verify the checksums of a checkpoint",
		Long: "Read every byte of a checkpoint and compare it with the checksums. A bad entry is missing, damaged, or\n" +
			"stale: intact, but not what was saved. The weights of a model that is in no file, as the embedded one, are not\n" +
			"read here: a run that resumes with it checks them. The exit code is 3 if a restore would not bring back what\n" +
			"was saved.",
		Example: "  atenia checkpoint verify saved --json",
		Args:    cobra.ExactArgs(1),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		dir, err := a.open(c, args[0])
		if err != nil {
			return err
		}
		checks, err := dir.Verify(c.Context())
		if err != nil {
			return err
		}
		bad, unread, bytes := 0, 0, uint64(0)
		for _, e := range checks {
			bytes += e.Bytes
			if e.Status.Failed() {
				bad++
			}
			if e.Status == checkpoint.Unread {
				unread++
			}
		}
		err = a.print(checks, func(w io.Writer) {
			for _, e := range checks {
				if e.Status.Failed() {
					fmt.Fprintf(w, "%s\t%q\t%s\n", e.Status, e.ID, e.Why)
				}
			}
			fmt.Fprintf(w, "%s, %s, %d bad\n", spelling.Count(len(checks), "entry"), command.Size(bytes), bad)
			if unread > 0 {
				fmt.Fprintf(w, "not read: %d weights of a model that is in no file; a run that resumes with it checks them\n", unread)
			}
		})
		if err == nil && bad > 0 {
			err = fmt.Errorf("%w: %d of %s", command.ErrVerify, bad, spelling.Count(len(checks), "entry"))
		}
		return err
	}
	return c
}

func (a *call) restore() *cobra.Command {
	var o checkpoint.Restoring
	ram := ""
	c := &cobra.Command{
		Use:         "restore DIR",
		Annotations: command.Patient,
		Short:       "Restore a checkpoint and print the placement",
		Long: "Restore a checkpoint as a program that starts from it would, and print the tier of every tensor, what has\n" +
			"drifted, and the warm start it suggests.",
		Example: "  atenia checkpoint restore saved --lazy\n  atenia checkpoint restore saved --ram 2GiB",
		Args:    cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.BoolVar(&o.Lazy, "lazy", false, "read tensor data when it is first needed")
	f.StringVar(&ram, "ram", "", "RAM limit, such as 4GiB")
	c.RunE = func(c *cobra.Command, args []string) error {
		if f.Changed("ram") {
			if err := o.SetRAM(ram); err != nil || o.RAM == 0 {
				return command.Usagef("--ram is %q, want a size such as 4GiB", ram)
			}
		}
		dir, err := a.open(c, args[0])
		if err != nil {
			return err
		}
		r, err := dir.Restore(c.Context(), o)
		if err != nil {
			return err
		}
		return a.print(r, func(w io.Writer) {
			for _, t := range r.Tensors {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Tier.Lower(), command.Size(t.Bytes), strings.ToLower(t.State))
			}
			fmt.Fprintf(w, "%s, %s in RAM, %s on the SSD, drift: %d\n", spelling.Count(len(r.Tensors), "tensor"), command.Size(r.Ledger.RAM.Used), command.Size(r.Ledger.SSD.Used), len(r.Drift))
			for _, d := range r.Drift {
				fmt.Fprintf(w, "  %s\t%s\n", d.ID, d.Text)
			}
			fmt.Fprintln(w, r.WarmStart.Summary)
		})
	}
	return c
}

func (a *call) gc() *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use:   "gc DIR [OTHER]...",
		Short: "Remove unreferenced entries from the cache",
		Long: "Remove tensors and gradients that none of the given checkpoints references. Name every checkpoint that\n" +
			"shares the cache.",
		Example: "  atenia checkpoint gc saved --dry-run\n  atenia checkpoint gc monday tuesday --cache shared",
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be removed without removing it")
	c.RunE = func(c *cobra.Command, args []string) error {
		dir, err := a.open(c, args[0])
		if err != nil {
			return err
		}
		swept, err := dir.Collect(c.Context(), args[1:], dry)
		if err != nil {
			return err
		}
		return a.print(swept, func(w io.Writer) {
			bytes := uint64(0)
			for _, s := range swept {
				bytes += s.Bytes
				fmt.Fprintf(w, "%s\t%s\n", s.Key, command.Size(s.Bytes))
			}
			word := "removed"
			if dry {
				word = "to remove"
			}
			fmt.Fprintf(w, "%s %s, %s\n", spelling.Count(len(swept), "entry"), word, command.Size(bytes))
		})
	}
	return c
}
