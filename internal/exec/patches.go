package exec

import "atenia/internal/plan"

// bindPatchEmbed binds the embedding of image patches.
func bindPatchEmbed(_ *Bind, _ *plan.PatchParams) (Kernel, error) {
	return nil, unsupported(plan.OpPatchEmbed)
}
