package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/serve"

	"github.com/spf13/cobra"
)

func (a *app) verify() *cobra.Command {
	var mf modelFlags
	var request, endpoint string
	c := &cobra.Command{
		Use:   "verify FILE [MODEL]",
		Short: "Compute an answer again of which there is a receipt",
		Long: "Read a receipt, or the response of a server that has one (\"receipt\": true in a request), compute the answer\n" +
			"again with MODEL, and say whether it is the same, or which token is the first that is another, and by how\n" +
			"much. The answer is the same on any processor, in any batch and under any budget. The exit code is 0 if it is\n" +
			"the same, 3 if it is another, and 1 if it cannot be verified: the receipt is damaged, or of another model.\n\n" +
			"A receipt with the hash of its prompt alone (\"receipt\": \"hash\") is verified with the request beside it.",
		Example: "  atenia verify answer.json model.gguf\n" +
			"  atenia verify answer.json model.gguf --request question.json --endpoint /v1/messages",
		Args: cobra.RangeArgs(1, 2),
	}
	mf.registerRunning(c.Flags())
	c.Flags().StringVar(&request, "request", "", "the request that was answered, in `FILE`, of a receipt without its prompt")
	c.Flags().StringVar(&endpoint, "endpoint", "", "the `PATH` that it was sent to (default /v1/chat/completions)")
	c.RunE = func(c *cobra.Command, args []string) error {
		b, err := readFile(args[0])
		if err != nil {
			return err
		}
		body := struct {
			Receipt  json.RawMessage `json:"receipt"`
			Request  json.RawMessage `json:"request,omitempty"`
			Endpoint string          `json:"endpoint,omitempty"`
		}{Endpoint: endpoint}
		receipt, as, err := atenia.ReceiptOf(b)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		body.Receipt = receipt
		if request != "" {
			if body.Request, err = readFile(request); err != nil {
				return err
			}
			if !json.Valid(body.Request) {
				return fmt.Errorf("%s: no JSON", request)
			}
		}
		cfg := serve.Config{Models: []serve.Model{{Path: optionalModel(args[1:])}}, Open: mf.prepared(a.env().Err)}
		cfg.Open.CacheType, cfg.Open.Precise, cfg.Open.GPTQZeros = as.CacheType, as.Precise, as.GPTQZeros
		return a.verified(c, cfg, body)
	}
	return c
}

// verified asks a server of this process.
func (a *app) verified(c *cobra.Command, cfg serve.Config, body any) (err error) {
	s, err := serve.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(c.Context(), http.MethodPost, "http://localhost/v1/verify", bytes.NewReader(b))
	if err != nil {
		return err
	}
	var w recorded
	s.ServeHTTP(&w, q)
	var said struct {
		Equal  bool    `json:"equal"`
		Tokens int     `json:"tokens"`
		Token  *int    `json:"token"`
		By     float64 `json:"by"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(w.body.Bytes(), &said); err != nil {
		return err
	}
	if said.Error.Message != "" {
		return errors.New(said.Error.Message)
	}
	if a.json {
		err = a.printJSON(json.RawMessage(w.body.Bytes()))
	} else if said.Equal {
		_, err = fmt.Fprintf(a.out, "the same: all of %s\n", spelling.Count(said.Tokens, "token"))
	}
	if err == nil && !said.Equal {
		where := "its end"
		if said.Token != nil && *said.Token < said.Tokens {
			where = fmt.Sprintf("token %d of %d", *said.Token+1, said.Tokens)
		}
		err = fmt.Errorf("%w: %s is another, by %.6g in its logit", command.ErrVerify, where, said.By)
	}
	return err
}

// A recorded response is kept in memory.
type recorded struct {
	header http.Header
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *recorded) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// Write implements [http.ResponseWriter].
func (w *recorded) Write(b []byte) (int, error) { return w.body.Write(b) }

// WriteHeader implements [http.ResponseWriter].
func (*recorded) WriteHeader(int) {}
