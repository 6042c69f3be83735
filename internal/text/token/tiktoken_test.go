package token

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestLongRanks: the bound of a token whose splits are looked up is that of its form in
// the vocabulary, which has two bytes for a space; a longer one is an error with its line
// and no vocabulary without merges.
func TestLongRanks(t *testing.T) {
	for _, n := range []int{maxRankedToken / 2, maxRankedToken/2 + 1} {
		var file strings.Builder
		for b := range 256 {
			fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b)
		}
		spaces := strings.Repeat(" ", n)
		fmt.Fprintf(&file, "%s 256\n", base64.StdEncoding.EncodeToString([]byte(spaces)))
		tok, err := LoadTiktoken([]byte(file.String()), Companion{Pre: "llama-bpe"})
		if n > maxRankedToken/2 {
			if err == nil || !strings.Contains(err.Error(), "line 257") {
				t.Errorf("%d spaces: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if ids := tok.Encode(spaces+"ab", false); len(ids) == 0 || tok.Decode(ids, false) != spaces+"ab" {
			t.Errorf("%d spaces become %v", n, ids)
		}
	}
}
