package bench

import "testing"

func TestParseBatched(t *testing.T) {
	found, err := ParseBatched([]byte("main: n_kv_max = 1024\n|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n" +
		"|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n" +
		"|    16 |     32 |    8 |    256 |    0.404 |   317.08 |    0.914 |   140.07 |    1.317 |   194.31 |\n"))
	if err != nil || len(found) != 1 || found[0].Depth != 0 || found[0].Decode != 32 || found[0].Batch != 8 || found[0].Samples[0] != 140.07 {
		t.Errorf("%+v, %v", found, err)
	}
}
