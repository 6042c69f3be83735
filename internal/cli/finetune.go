package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"atenia/internal/cli/command"
	"atenia/train"

	"github.com/spf13/cobra"
)

// finetuneCommand returns the command of that name: "atenia train" without a file.
func finetuneCommand(env *command.Env) *cobra.Command {
	a := &runTraining{env: env}
	r := &train.Recipe{}
	pairs, full := "r=8", false
	c := &cobra.Command{
		Use:   "finetune MODEL DATA...",
		Short: "Fine-tune a model on texts, conversations or pairs",
		Long: "Fine-tune a Hugging Face folder on your own data: JSON lines {\"text\": …}, or conversations\n" +
			"{\"messages\": [{\"role\": …, \"content\": …}]}, of which the answers are learned through the model's chat template.\n" +
			"For a model that reads images, a content may be a list of {\"type\": \"image\", \"image\": PATH} and {\"type\": \"text\", …};\n" +
			"for Whisper, a line is {\"audio\": PATH, \"text\": …, \"language\": \"en\"}. Paths are relative to the data. Encoders of images\n" +
			"and sounds stay as they are.\n\n" +
			"An encoder (\"atenia embed\") learns from {\"query\": …, \"positive\": …, \"negatives\": [...]}: the positive of a query should\n" +
			"be nearer than its negatives and than those of the other --rows of the batch; more rows teach more. A\n" +
			"cross-encoder (\"atenia rerank\") learns from {\"query\": …, \"document\": …, \"label\": 0 or 1}, other classifiers from\n" +
			"{\"text\": …, \"label\": NUMBER}.\n\n" +
			"By default the weights stay frozen and a LoRA adapter is trained, which the output folder holds in the format of\n" +
			"huggingface/peft; --merge also writes the merged model. --full trains all weights. Ctrl-C saves a snapshot and\n" +
			"stops. \"atenia train\" has every setting in a file, [lora] and model.from among them.",
		Example: "  atenia finetune path/to/model answers.jsonl --lora r=8,alpha=16,targets=q_proj,v_proj --out tuned\n" +
			"  atenia run path/to/model --lora tuned \"Hello\"\n" +
			"  atenia finetune path/to/model answers.jsonl --steps 500 --merge && atenia chat finetuned/merged\n" +
			"  atenia finetune path/to/whisper talks.jsonl --out heard && atenia transcribe path/to/whisper talk.wav --lora heard\n" +
			"  atenia finetune path/to/all-MiniLM-L6-v2 pairs.jsonl --rows 32 --heldout 0.1 --out near && atenia embed path/to/all-MiniLM-L6-v2 \"Hello\" --lora near",
		Args:        cobra.MinimumNArgs(2),
		Annotations: command.Patient,
	}
	f := c.Flags()
	f.StringVar(&pairs, "lora", pairs, "`SETTINGS` of the adapter: r=, alpha=, rslora, dropout=, and last targets=NAMES or a regular expression")
	f.BoolVar(&full, "full", false, "train all weights")
	f.BoolVar(&r.LoRA.Merge, "merge", false, "also write the merged model, to the folder merged in the output folder")
	f.IntVar(&r.Train.Steps, "steps", 100, "number of training steps")
	f.Float64Var(&r.Optimizer.Rate, "rate", 0, "learning rate (0 = 3e-4 for adapters, 3e-5 with --full)")
	f.IntVar(&r.Data.Row, "row", 512, "number of tokens in a row, or in a text of an encoder; longer documents are truncated")
	f.IntVar(&r.Data.Rows, "rows", 4, "number of rows in a batch, or of pairs for an encoder")
	f.Float64Var(&r.Data.Heldout, "heldout", 0, "fraction of the data to hold out for evaluation")
	f.Float64Var(&r.Train.Temperature, "temperature", 0, "divisor of cosines in the loss of an encoder (0 = 0.05)")
	f.BoolVar(&r.Data.All, "all", false, "also learn the questions of conversations")
	f.Uint64Var(&r.Train.Seed, "seed", 0, "seed of the adapter and of the order of the data")
	f.BoolVar(&r.Train.Recompute, "recompute", false, "recompute layers in the backward pass to save memory")
	f.IntVarP(&r.Train.Threads, "threads", "t", 0, "worker threads (0 = all processors)")
	f.StringVarP(&r.Train.Out, "out", "o", "finetuned", "output folder")
	f.IntVar(&r.Train.SaveEvery, "checkpoint-every", 0, "number of steps between snapshots (0 = a twentieth of the run)")
	f.BoolVar(&a.resume, "resume", false, "continue from the newest snapshot in the folder, or start if there is none")
	f.BoolVar(&a.overwrite, "overwrite", false, "start over even if the folder holds a run")
	a.memoryFlags(f)
	gptqZeros(f, &r.Model.GPTQZeros)
	c.RunE = func(c *cobra.Command, args []string) error {
		if full && (f.Changed("lora") || r.LoRA.Merge) {
			return command.Usagef("--full trains no adapter: it excludes --lora and --merge")
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
		if err := a.setBudget(r); err != nil {
			return err
		}
		return a.train(c.Context(), r, "atenia finetune … --resume")
	}
	return c
}

// parsePairs reads "r=8,alpha=16,targets=q_proj,v_proj". What follows targets=
// is its value to the end.
func parsePairs(s string, r *train.Recipe) error {
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
