package dialect

// Adapters in the words of llama-server and of vLLM.

import (
	"net/http"

	"atenia"
	"atenia/serve/internal/host"
)

// An adapter is an entry of llama-server's list. Its scale is that of requests which do
// not say one: none has the adapter unless it asks.
type adapter struct {
	ID    int     `json:"id"`
	Name  string  `json:"name"`
	Scale float32 `json:"scale"`
	Rank  int     `json:"rank"`
	Bytes int64   `json:"size"`
	Users int     `json:"requests"`
}

// listAdapters lists those of the model that ?model= names, the first one by default.
func listAdapters(_ http.ResponseWriter, r *host.Request) error {
	l, err := r.Borrow(r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	defer l.Release()
	out := []adapter{}
	for i, a := range l.Model.Adapters() {
		out = append(out, adapter{ID: i, Name: a.Name, Rank: a.Rank, Bytes: a.Bytes, Users: a.Users})
	}
	return r.WriteJSON(http.StatusOK, out)
}

// A loraRequest is vLLM's.
type loraRequest struct {
	Name string `json:"lora_name"`
	Path string `json:"lora_path"` // within the server's folder of adapters
}

func loadAdapter(_ http.ResponseWriter, r *host.Request) error {
	var in loraRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := r.Pool().LoadAdapter(r.Context(), in.Name, in.Path); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"loaded": in.Name})
}

func unloadAdapter(_ http.ResponseWriter, r *host.Request) error {
	var in loraRequest
	if err := r.ReadJSON(&in); err != nil {
		return err
	}
	if err := r.Pool().UnloadAdapter(in.Name); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]string{"unloaded": in.Name})
}

// adapter returns the adapter that llama-server's field asks for, with its scale: "" =
// none, or what the model's name says.
func (a *openaiAsk) adapter(m *atenia.Model) (name string, scale float32, err error) {
	if len(a.LoRA) == 0 {
		return "", 0, nil
	}
	list := m.Adapters()
	for _, l := range a.LoRA {
		switch {
		case l.ID < 0 || l.ID >= len(list):
			return "", 0, host.Invalid("lora", "lora has the id %d, and there are %d adapters", l.ID, len(list))
		case l.Scale == 0:
		case name != "":
			return "", 0, host.Unsupported("lora", "lora has %q and %q: a request can have one adapter", name, list[l.ID].Name)
		default:
			name, scale = list[l.ID].Name, l.Scale
		}
	}
	return name, scale, nil
}
