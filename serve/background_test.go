package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden/await"
)

// begun posts a body, reads the first event of the stream and leaves. It returns the response's id.
func begun(t *testing.T, url, body string) string {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	q, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/responses", strings.NewReader(body))
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			return at(t, object(t, data), "response", "id").(string)
		}
	}
	t.Fatalf("%s: %d and no event", body, resp.StatusCode)
	return ""
}

// ended waits for a response and returns it.
func ended(t *testing.T, url, id string) (o map[string]any) {
	t.Helper()
	await.Until(t, "the response ends", func() bool {
		o = fetch(t, url+"/v1/responses/"+id)
		return o["status"] != "queued" && o["status"] != "in_progress"
	})
	return o
}

// TestBackground: a response is computed to its end without its client, as with one; and from
// every sequence number on the events are told again as they were.
func TestBackground(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{Open: atenia.Config{Slots: 1}})
	body := `{` + sure + `"max_output_tokens":40,"ignore_eos":true,"input":"Tell me about a dog.","metadata":{"a":"b"}`
	want := said(t, create(t, web.URL+"/v1/responses", body+`}`))

	o := create(t, web.URL+"/v1/responses", body+`,"background":true}`)
	if o["status"] != "queued" || o["background"] != true || len(o["output"].([]any)) != 0 {
		t.Errorf("at once: %v", o)
	}
	if got := said(t, ended(t, web.URL, o["id"].(string))); got != want {
		t.Errorf("in the background\n%s, want\n%s", got, want)
	}
	// The slot is taken, so that the client leaves before its answer has begun.
	l, err := s.pool.Borrow(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for tok, err := range l.Model.Generate(ctx, atenia.Prompt{Text: "Once", Options: atenia.Options{IgnoreEnd: true, Priority: 100}}) {
		if err != nil {
			t.Fatal(tok, err)
		}
		break
	}
	id := begun(t, web.URL, body+`,"background":true,"stream":true}`)
	stop()
	l.Release()
	if got := said(t, ended(t, web.URL, id)); got != want {
		t.Errorf("without the client\n%s, want\n%s", got, want)
	}
	url := web.URL + "/v1/responses/" + id + "?stream=true"
	_, text := get(t, url)
	all := events(t, text)
	if len(all) < 40 || at(t, object(t, all[0]), "type") != "response.created" || at(t, object(t, last(all)), "type") != "response.incomplete" {
		t.Fatalf("%d events, from %s to %s", len(all), all[0], last(all))
	}
	for i, e := range all {
		if n := at(t, object(t, e), "sequence_number"); n != float64(i) {
			t.Errorf("event %d has the number %v", i, n)
		}
		_, text := get(t, fmt.Sprint(url, "&starting_after=", i))
		if got, want := strings.Join(events(t, text), "\n"), strings.Join(all[i+1:], "\n"); got != want {
			t.Errorf("after %d:\n%s, want\n%s", i, got, want)
		}
	}
	// A client that stays sees the same.
	status, text := post(t, web.URL+"/v1/responses", body+`,"background":true,"stream":true}`)
	live := events(t, text)
	_, text = get(t, web.URL+"/v1/responses/"+at(t, object(t, live[0]), "response", "id").(string)+"?stream=true")
	if again := events(t, text); status != 200 || strings.Join(live, "\n") != strings.Join(again, "\n") {
		t.Errorf("told\n%s, and again\n%s", live, again)
	}
	for query, want := range map[string]int{"&starting_after=-1": 400, "&starting_after=x": 400, "&starting_after=99999": 200} {
		if status, text := get(t, url+query); status != want {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	other := create(t, web.URL+"/v1/responses", body+`}`)["id"].(string)
	if status, text := get(t, web.URL+"/v1/responses/"+other+"?stream=true"); status != 400 || !strings.Contains(text, "background: true") {
		t.Errorf("events of another: %d %s", status, text)
	}
}

// TestBackgroundFails: what is wrong with a request is told at once where it can be; what is found
// later makes a failed response, which is kept, as is one whose stream failed.
func TestBackgroundFails(t *testing.T) {
	_, web := newServer(t, Config{})
	for body, want := range map[string]string{
		`{"input":"a","background":true,"store":false}`: `"param":"background"`, `{"input":"a","background":true,"model":"none"}`: `none`,
		`{"input":"a","background":true,"truncation":"zz"}`: `"param":"truncation"`,
	} {
		if status, text := post(t, web.URL+"/v1/responses", body); status/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	o := create(t, web.URL+"/v1/responses", `{"input":"a","background":true,"temperature":-1}`)
	got := ended(t, web.URL, o["id"].(string))
	if got["status"] != "failed" || at(t, got, "error", "code") != "invalid_value" || !strings.Contains(at(t, got, "error", "message").(string), "temperature is -1") {
		t.Errorf("failed: %v", got)
	}
	left := begun(t, web.URL, `{"input":"a","stream":true,"ignore_eos":true,"max_output_tokens":400}`)
	await.Until(t, "the response is kept", func() bool {
		status, _ := get(t, web.URL+"/v1/responses/"+left)
		return status == 200
	})
	if got := fetch(t, web.URL+"/v1/responses/"+left); got["status"] != "failed" || at(t, got, "error", "code") != "canceled" {
		t.Errorf("its client left: %v", got)
	}
	_, text := get(t, web.URL+"/v1/responses/"+o["id"].(string)+"?stream=true")
	if e := object(t, last(events(t, text))); e["type"] != "response.failed" {
		t.Errorf("the last event is %v", e)
	}
}

// TestBackgroundCounts: a response that is computed without its client counts as one request.
func TestBackgroundCounts(t *testing.T) {
	url := busy(t, Config{MaxRequests: 2, Ping: -1})
	body := `{"input":"a","background":true}`
	create(t, url+"/v1/responses", body)
	id := create(t, url+"/v1/responses", body)["id"].(string)
	if status, text := post(t, url+"/v1/responses", body); status != 429 {
		t.Errorf("beyond the limit: %d %s", status, text)
	}
	if status, text := get(t, url+"/v1/responses/"+id); status != 429 {
		t.Errorf("beyond the limit: %d %s", status, text)
	}
}

// TestCancel: a response that is cancelled ends with what follows it.
func TestCancel(t *testing.T) {
	url := busy(t, Config{Ping: -1})
	id := create(t, url+"/v1/responses", `{"input":"a","background":true}`)["id"].(string)
	if status, text := post(t, url+"/v1/responses", `{"input":"b","previous_response_id":"`+id+`"}`); status != 400 || !strings.Contains(text, "still computed") {
		t.Errorf("continued while it is computed: %d %s", status, text)
	}
	followed := make(chan []string)
	go func() {
		_, text := get(t, url+"/v1/responses/"+id+"?stream=true")
		followed <- events(t, text)
	}()
	for range 2 {
		o := create(t, url+"/v1/responses/"+id+"/cancel", ``)
		if o["status"] != "cancelled" || o["id"] != id {
			t.Errorf("cancelled: %v", o)
		}
	}
	if list := <-followed; at(t, object(t, last(list)), "type") != "response.cancelled" {
		t.Errorf("followed: %s", list)
	}
	if o := fetch(t, url+"/v1/responses/"+id); o["status"] != "cancelled" {
		t.Errorf("then: %v", o)
	}
	second := create(t, url+"/v1/responses", `{"input":"a","background":true}`)["id"].(string)
	if status, text := send(t, "DELETE", url+"/v1/responses/"+second); status != 200 {
		t.Errorf("DELETE: %d %s", status, text)
	}
	if status, _ := get(t, url+"/v1/responses/"+second); status != 404 {
		t.Errorf("there after DELETE: %d", status)
	}
}

// TestCancelEnded: what has ended, or has a client, cannot be cancelled.
func TestCancelEnded(t *testing.T) {
	_, web := newServer(t, Config{})
	o := create(t, web.URL+"/v1/responses", `{"input":"a","background":true,"max_output_tokens":2}`)
	ended(t, web.URL, o["id"].(string))
	other := create(t, web.URL+"/v1/responses", `{"input":"a","max_output_tokens":2}`)
	for id, want := range map[any]string{o["id"]: "is incomplete", other["id"]: "background: true"} {
		if status, text := post(t, fmt.Sprint(web.URL, "/v1/responses/", id, "/cancel"), ``); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %s", status, text, want)
		}
	}
}

// TestDrainBackground: a drain waits for what is computed without a client, and the end of the
// server ends it; on disk it is a failed response.
func TestDrainBackground(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	var id string
	t.Run("drained", func(t *testing.T) {
		s, web := newServer(t, Config{Store: dir})
		done := create(t, web.URL+"/v1/responses", `{"input":"a","background":true,"ignore_eos":true,"max_output_tokens":400}`)["id"].(string)
		if err := s.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, done+".jsonl"))
		if err != nil || !strings.Contains(string(b), `"status":"incomplete"`) {
			t.Errorf("drained before its end: %v %.300s", err, b)
		}
	})
	t.Run("server", func(t *testing.T) {
		s, url := busyServer(t, Config{Store: dir})
		id = begun(t, url, `{"input":"a","background":true,"stream":true}`)
		await.Until(t, "its client is gone", func() bool { return s.host.Running() == 1 })
		gone, stop := context.WithCancelCause(t.Context())
		why := errors.New("no time")
		stop(why)
		if err := s.Drain(gone); !errors.Is(err, why) || !strings.Contains(err.Error(), "1 requests still ran") {
			t.Errorf("drained: %v", err)
		}
	})
	_, web := newServer(t, Config{Store: dir})
	if o := fetch(t, web.URL+"/v1/responses/"+id); o["status"] != "failed" || at(t, o, "error", "code") != "shutting_down" {
		t.Errorf("after the end: %v", o)
	}
}

// storeVar makes a process of this test a server that keeps what it is sent in a folder.
const storeVar = "ATENIA_TEST_STORE"

// TestStoreSurvivesKill: what was answered before a kill is there after it, and what was computed
// then is failed.
func TestStoreSurvivesKill(t *testing.T) {
	if dir := os.Getenv(storeVar); dir != "" {
		_, web := newServer(t, Config{Store: dir})
		fmt.Println("serving", web.URL)
		select {}
	}
	dir := filepath.Join(t.TempDir(), "kept")
	server := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoreSurvivesKill$")
	server.Env = append(os.Environ(), storeVar+"="+dir)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	url := ""
	for sc := bufio.NewScanner(out); url == "" && sc.Scan(); {
		url, _ = strings.CutPrefix(sc.Text(), "serving ")
	}
	first := create(t, url+"/v1/responses", `{`+sure+`"input":"Hi."}`)
	conv := create(t, url+"/v1/conversations", `{"items":[{"role":"user","content":"Hi."}]}`)["id"].(string)
	running := create(t, url+"/v1/responses", `{"input":"a","background":true,"ignore_eos":true,"max_output_tokens":400}`)["id"].(string)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	_, web := newServer(t, Config{Store: dir})
	if got := fetch(t, web.URL+"/v1/responses/"+first["id"].(string)); jsonOf(t, got) != jsonOf(t, first) {
		t.Errorf("after a kill\n%s, want\n%s", jsonOf(t, got), jsonOf(t, first))
	}
	fetch(t, web.URL+"/v1/conversations/"+conv)
	if o := fetch(t, web.URL+"/v1/responses/"+running); o["status"] == "in_progress" || o["status"] == "queued" {
		t.Errorf("what was computed is %v", o)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp-*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
