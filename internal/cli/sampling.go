package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/pflag"
)

// samplingHelp is part of the help of every command that generates.
const samplingHelp = `Sampling stages run in this order: penalties (--repeat-penalty, --frequency-penalty,
--presence-penalty), dry, top-k, typical, top-p, min-p, xtc, temperature. --logit-bias applies before all
of them; --samplers selects other stages or another order. --temp 0 takes the most likely token after
penalties and dry, and --mirostat-tau replaces top-k, typical, top-p, min-p and xtc. Settings that are not
given default to the recommendation in the model's files.`

// samplingFlags are the flags of sampling. Flags that are not given keep the
// defaults of the model.
type samplingFlags struct {
	opt      atenia.Options
	numbers  *pflag.FlagSet // those that point into opt.Sampling
	bias     []string
	order    []string
	breakers []string
}

func (s *samplingFlags) register(f *pflag.FlagSet) {
	f.IntVarP(&s.opt.MaxTokens, "max-tokens", "n", 0, "maximum number of tokens to generate (0 = up to the context length)")
	f.StringArrayVar(&s.opt.Stop, "stop", nil, "stop at this `TEXT` (may be repeated)")
	f.BoolVar(&s.opt.IgnoreEnd, "ignore-eos", false, "continue past the end-of-text token")
	f.IntVar(&s.opt.MinTokens, "min-tokens", 0, "let no token that ends the text come before so many others")
	f.StringSliceVar(&s.order, "samplers", nil, "sampling stages to run, in order, separated by commas")
	f.StringArrayVar(&s.bias, "logit-bias", nil, "`ID=VALUE` to add to a token's logit; -inf forbids the token (may be repeated)")
	f.StringArrayVar(&s.breakers, "dry-breaker", nil, "`TEXT` that ends a repetition, instead of the defaults (may be repeated)")

	p, n := &s.opt.Sampling, pflag.NewFlagSet("", pflag.ContinueOnError)
	n.Float32Var(&p.Temperature, "temp", 0, "temperature; 0 takes the most likely token")
	n.IntVar(&p.TopK, "top-k", 0, "keep the k most likely tokens (0 = all)")
	n.Float32Var(&p.TopP, "top-p", 0, "keep the smallest set of tokens with this total probability")
	n.Float32Var(&p.MinP, "min-p", 0, "drop tokens below this fraction of the highest probability")
	n.Float32Var(&p.Typical, "typical", 0, "keep the most typical tokens with this total probability")
	n.Float32Var(&p.XTCProbability, "xtc-probability", 0, "how often all but the least probable of the tokens at --xtc-threshold are left out (0 = off)")
	n.Float32Var(&p.XTCThreshold, "xtc-threshold", 0, "probability from which on --xtc-probability counts (0, or above 0.5 = off)")
	n.Float32Var(&p.RepeatPenalty, "repeat-penalty", 0, "divide the logits of recent tokens by this (1 = off)")
	n.Float32Var(&p.FrequencyPenalty, "frequency-penalty", 0, "subtract this from a token's logit for each recent occurrence")
	n.Float32Var(&p.PresencePenalty, "presence-penalty", 0, "subtract this once from the logit of every recent token")
	n.IntVar(&p.RepeatLast, "repeat-last-n", 0, "number of recent tokens that penalties consider (0 = 64, -1 = all)")
	n.Float32Var(&p.DRY.Multiplier, "dry-multiplier", 0, "strength of the DRY penalty on repetitions (0 = off)")
	n.Float32Var(&p.DRY.Base, "dry-base", 0, "growth of the DRY penalty with each repeated token (0 = 1.75)")
	n.IntVar(&p.DRY.AllowedLength, "dry-allowed-length", 0, "length of the shortest repetition that DRY penalizes (0 = 2)")
	n.IntVar(&p.DRY.Range, "dry-range", 0, "number of recent tokens that DRY searches (0 = all)")
	n.Float32Var(&p.Mirostat.Tau, "mirostat-tau", 0, "Mirostat 2: target surprise in bits (0 = off)")
	n.Float32Var(&p.Mirostat.Eta, "mirostat-eta", 0, "Mirostat 2: learning rate (0 = 0.1)")
	n.Uint64VarP(&p.Seed, "seed", "s", 0, "random seed (default: a new one each time)")
	n.IntVar(&p.LogProbs, "logprobs", 0, "report this many most likely tokens at each position, with --json")
	s.numbers = n
	f.AddFlagSet(n)
}

// over puts the numbers that were given over a model's recommendation.
func (s *samplingFlags) over(recommended atenia.Sampling) error {
	p := &s.opt.Sampling
	given := map[*pflag.Flag]string{}
	s.numbers.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given[f] = f.Value.String()
		}
	})
	*p = recommended
	p.Seed = randomSeed()
	for f, v := range given { // each sets its own field again
		if err := f.Value.Set(v); err != nil {
			return err
		}
	}
	return nil
}

// options joins the flags that were given with the model's recommendation.
func (s *samplingFlags) options(m *atenia.Model) (atenia.Options, error) {
	p := &s.opt.Sampling
	if err := s.over(m.Sampling()); err != nil {
		return s.opt, err
	}
	for _, name := range s.order {
		st, err := atenia.ParseStage(strings.TrimSpace(name))
		if err != nil {
			return s.opt, command.Usagef("--samplers: %w", err)
		}
		p.Order = append(p.Order, st)
	}
	for _, b := range s.bias {
		id, value, ok := strings.Cut(b, "=")
		n, err1 := strconv.ParseInt(id, 10, 32)
		v, err2 := strconv.ParseFloat(value, 32)
		if !ok || err1 != nil || err2 != nil {
			return s.opt, command.Usagef("--logit-bias %q: want ID=VALUE, for example 42=-1.5", b)
		}
		if p.LogitBias == nil {
			p.LogitBias = map[int32]float32{}
		}
		p.LogitBias[int32(n)] = float32(v)
	}
	if p.DRY.Multiplier != 0 {
		t, err := m.Tokenizer()
		if err != nil {
			return s.opt, err
		}
		p.DRY.Breakers = append(p.DRY.Breakers, t.Breakers(s.breakers)...)
	}
	return s.opt, p.Validate()
}

func randomSeed() uint64 { return rand.Uint64() }

// follow reads the files of --schema and --grammar.
func (s *samplingFlags) follow(schema, grammar string) error {
	if schema != "" && grammar != "" {
		return command.Usagef("--schema and --grammar exclude each other")
	}
	const most = 1<<20 + 1 // the library refuses more than 1 MiB
	read := func(name string) ([]byte, error) {
		f, err := durable.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, most))
		if err != nil {
			return nil, err
		}
		return spelling.UTF8(b)
	}
	if schema != "" {
		b, err := read(schema)
		if err != nil {
			return fmt.Errorf("--schema: %w", err)
		}
		s.opt.Schema = b
	}
	if grammar != "" {
		b, err := read(grammar)
		if err != nil {
			return fmt.Errorf("--grammar: %w", err)
		}
		s.opt.Grammar = string(b)
	}
	return nil
}
