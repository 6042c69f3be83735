package recipe

import (
	"errors"
	"fmt"

	"atenia/internal/model/lora"
)

// LoRA configures the training of low-rank pairs in place of the parameters,
// which stay frozen.
type LoRA struct {
	Rank    int     `toml:"rank" help:"rank of the adapter that is trained instead of the parameters of model.from (0: train the parameters)"`
	Alpha   float64 `toml:"alpha" help:"scale of the adapter: alpha / rank (2 × rank)"`
	Targets string  `toml:"targets" help:"matrices to adapt: q_proj,v_proj, a regular expression for whole names, or all-linear (all-linear)"`
	RSLoRA  bool    `toml:"rslora" help:"scale by alpha / √rank instead (false)"`
	Dropout float64 `toml:"dropout" help:"fraction of an adapter's input to drop in each step (0)"`
	Merge   bool    `toml:"merge" help:"also write the merged model, to the folder merged in the output folder (false)"`
}

// adapter returns the configuration of the adapter.
func (r *Recipe) adapter() (lora.Config, error) {
	l := r.LoRA
	c := lora.Config{Rank: l.Rank, Alpha: l.Alpha, Dropout: l.Dropout, RSLoRA: l.RSLoRA, Base: r.Model.From}
	if l.Targets != "" {
		t, err := lora.ParseTargets(l.Targets)
		if err != nil {
			return c, err
		}
		c.Targets = t
	}
	return c.Defaulted()
}

// Adapter returns the configuration of the adapter; false if the parameters are
// trained.
func (r *Recipe) Adapter() (lora.Config, bool) {
	if r.LoRA.Rank == 0 {
		return lora.Config{}, false
	}
	c, err := r.adapter()
	return c, err == nil
}

// checkLoRA validates the table.
func (r *Recipe) checkLoRA() error {
	if r.LoRA == (LoRA{}) {
		return nil
	}
	switch {
	case r.LoRA.Rank == 0:
		return errors.New("lora.rank is 0, and other keys of [lora] are given")
	case r.Model.From == "":
		return errors.New("[lora] needs model.from")
	case r.Optimizer.Offload || r.Train.Precision == "bf16":
		return errors.New("[lora] trains few values: their precision is float32, and nothing is offloaded")
	}
	if _, err := r.adapter(); err != nil {
		return fmt.Errorf("[lora]: %w", err)
	}
	return nil
}
