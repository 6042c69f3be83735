package train

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// Finetune returns the command of that name: "atenia train" without a file.
func Finetune(env *command.Env) *cobra.Command {
	a := &call{env: env}
	r := &atenia.TrainRecipe{}
	pairs, full := "r=8", false
	c := &cobra.Command{
		Use:   "finetune MODEL DATA...",
		Short: "Train a model on with texts or conversations",
		Long: "Finetune trains a Hugging Face folder on with your own data: lines {\"text\": …}, or conversations\n" +
			"{\"messages\": [{\"role\": …, \"content\": …}]} of which the answers are learnt, through the model's chat template.\n\n" +
			"The parameters stay as they are and low-rank pairs are trained (LoRA), which the folder of results then holds in\n" +
			"the form of huggingface/peft; --merge also writes the merged model. --full trains the parameters themselves.\n" +
			"Ctrl-C saves a snapshot and stops. \"atenia train\" has every setting in a file, [lora] and model.from among them.",
		Example: "  atenia finetune path/to/model answers.jsonl --lora r=8,alpha=16,targets=q_proj,v_proj --out tuned\n" +
			"  atenia run path/to/model --lora tuned \"Hello\"\n" +
			"  atenia finetune path/to/model answers.jsonl --steps 500 --merge && atenia chat finetuned/merged",
		Args:        cobra.MinimumNArgs(2),
		Annotations: command.Patient,
	}
	f := c.Flags()
	f.StringVar(&pairs, "lora", pairs, "`SETTINGS` of the pairs: r=, alpha=, rslora, dropout=, and last targets=NAMES or a regular expression")
	f.BoolVar(&full, "full", false, "train the parameters themselves")
	f.BoolVar(&r.LoRA.Merge, "merge", false, "also write the merged model, into the folder merged in that of the results")
	f.IntVar(&r.Train.Steps, "steps", 100, "steps of the run")
	f.Float64Var(&r.Optimizer.Rate, "rate", 0, "learning rate (0 = 3e-4 for pairs, 3e-5 for parameters)")
	f.IntVar(&r.Data.Row, "row", 512, "tokens of the longest row; longer documents are cut")
	f.IntVar(&r.Data.Rows, "rows", 4, "rows of a batch")
	f.Float64Var(&r.Data.Heldout, "heldout", 0, "share of the data that is kept for evaluation")
	f.BoolVar(&r.Data.All, "all", false, "learn the questions of conversations, too")
	f.Uint64Var(&r.Train.Seed, "seed", 0, "seed of the pairs and of the order of the data")
	f.BoolVar(&r.Train.Recompute, "recompute", false, "compute layers twice rather than keep them: less memory")
	f.IntVarP(&r.Train.Threads, "threads", "t", 0, "worker threads (0 = all processors)")
	f.StringVarP(&r.Train.Out, "out", "o", "finetuned", "folder of the results")
	f.IntVar(&r.Train.SaveEvery, "checkpoint-every", 0, "steps between snapshots (0 = a twentieth of the run)")
	f.BoolVar(&a.resume, "resume", false, "go on from the newest snapshot in the folder, or begin if there is none")
	f.BoolVar(&a.overwrite, "overwrite", false, "begin again although the folder holds a run")
	c.RunE = func(c *cobra.Command, args []string) error {
		if full && (f.Changed("lora") || r.LoRA.Merge) {
			return command.Usagef("--full trains no pairs: it excludes --lora and --merge")
		}
		if a.resume && a.overwrite {
			return command.Usagef("--resume and --overwrite exclude each other")
		}
		r.Model.From, r.Data.Files = args[0], args[1:]
		rate := 3e-5
		if !full {
			rate = 3e-4
			if err := parsePairs(pairs, r); err != nil {
				return &command.UsageError{Err: fmt.Errorf("--lora: %w", err)}
			}
		}
		if r.Optimizer.Rate == 0 {
			r.Optimizer.Rate = rate
		}
		r.Schedule.Warmup, r.Schedule.Floor = r.Train.Steps/20, 0.1
		if err := r.Complete(); err != nil {
			return &command.UsageError{Err: err}
		}
		return a.train(c.Context(), r, "atenia finetune … --resume")
	}
	return c
}

// parsePairs reads "r=8,alpha=16,targets=q_proj,v_proj". What follows targets=
// is its value to the end.
func parsePairs(s string, r *atenia.TrainRecipe) error {
	l := &r.LoRA
	l.Rank = 8
	for s != "" {
		part, rest, _ := strings.Cut(s, ",")
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "r", "rank":
			if l.Rank, err = strconv.Atoi(value); err != nil || l.Rank < 1 {
				err = errors.New("want a whole number, 1 or more")
			}
		case "alpha":
			if l.Alpha, err = strconv.ParseFloat(value, 64); err != nil {
				err = errors.New("want a number")
			}
		case "dropout":
			if l.Dropout, err = strconv.ParseFloat(value, 64); err != nil {
				err = errors.New("want a number")
			}
		case "rslora":
			l.RSLoRA = true
		case "targets":
			_, l.Targets, _ = strings.Cut(s, "=")
			rest = ""
		default:
			err = errors.New("no such setting; there are r, alpha, rslora, dropout and, last, targets")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
		s = rest
	}
	return nil
}
