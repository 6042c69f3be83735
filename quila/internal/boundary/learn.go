package boundary

import (
	"fmt"

	"atenia/internal/text/token"
)

// Learn makes a tokenizer of at most so many codes from texts: byte pairs that
// occur often become codes, within words. A book of V rows has room for all of
// [R-10.0t] if codes is at most V.
func Learn(texts token.TrainTexts, codes int) (*Tokenizer, error) {
	if codes < FirstMerge || codes > FirstMerge+mostMerges {
		return nil, &codebookError{"learn: codes", FirstMerge, codes, errCode}
	}
	if codes == FirstMerge {
		return NewTokenizer(nil)
	}
	v, err := token.TrainVocabulary(token.VocabularyConfig{Size: codes - FirstMerge + FirstSpecial}, texts)
	if err != nil {
		return nil, fmt.Errorf("codebook: learn: %w", err)
	}
	order := byteOrder()
	merges := make([][2]int32, len(v.Merges))
	for i, m := range v.Merges {
		for side, id := range m {
			if id < FirstSpecial {
				merges[i][side] = int32(order[id])
			} else {
				merges[i][side] = id - FirstSpecial + FirstMerge
			}
		}
	}
	return NewTokenizer(merges)
}

// byteOrder lists the bytes as package token numbers them: those that are shown
// as themselves, then the others.
func byteOrder() (order [256]byte) {
	shown := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xFF && b != 0xAD }
	at := 0
	for _, own := range []bool{true, false} {
		for b := range 256 {
			if shown(b) == own {
				order[at] = byte(b)
				at++
			}
		}
	}
	return order
}
