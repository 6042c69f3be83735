package host

import "atenia"

// A ReceiptWish is the field "receipt" of a request: true or "ids" asks for a receipt with the
// prompt's tokens, "hash" for one with their hash alone. It is a value of [atenia.Options].Receipt.
type ReceiptWish string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *ReceiptWish) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true", `"ids"`:
		*w = "ids"
	case `"hash"`:
		*w = "hash"
	case "false", "null":
		*w = ""
	default:
		return Invalid("receipt", `receipt is %.20q, want true, "hash" or false`, b)
	}
	return nil
}

// PromptTokens returns the tokens of a conversation, as [atenia.Model.PromptTokens] does. Its
// errors are those of Chat.
func (r *Request) PromptTokens(l *Lease, c atenia.Conversation) ([]int32, error) {
	ids, err := l.Model.PromptTokens(r.Context(), c)
	if err != nil {
		err = blame(&c, err)
	}
	return ids, err
}
