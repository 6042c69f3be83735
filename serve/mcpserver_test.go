package serve

// An MCP server that misbehaves, in a process of its own.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// TestMain is also that server.
func TestMain(m *testing.M) {
	if os.Getenv("ATENIA_SERVE_TEST") == "tools" {
		misbehave()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// misbehaviours are the tools of the server, which do what they are called.
var misbehaviours = []string{"fine", "slow", "deaf", "wrong_id", "gone", "dies", "no_json", "no_utf8", "huge", "endless", "no_result", "batch"}

const tooLong = 17 << 20 // bytes: more than a message may have

// misbehave answers requests on standard input, line by line.
func misbehave() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	left := misbehaviours
	for in.Scan() {
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(in.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, result) }
		text := func(s string) string { return `{"content":[{"type":"text","text":"` + s + `"}]}` }
		switch q.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}}`)
		case "tools/list":
			var list []string
			for _, name := range left {
				list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"],"additionalProperties":false}}`)
			}
			answer(`{"tools":[` + strings.Join(list, ",") + `]}`)
		case "tools/call":
			switch q.Params.Name {
			case "fine":
				answer(text("all is well"))
			case "slow":
			case "deaf":
				// Deaf until its input is closed: one that goes on waits for the library to kill it.
				if await.Long() {
					time.Sleep(time.Hour)
				}
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(0)
			case "wrong_id":
				fmt.Printf(`{"jsonrpc":"2.0","id":99999,"result":%s}`+"\n", text("for another"))
			case "gone":
				left = slices.DeleteFunc(slices.Clone(misbehaviours), func(s string) bool { return s == "gone" })
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool \"gone\""}}`+"\n", q.ID)
			case "dies":
				os.Exit(3)
			case "no_json":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`+"\n}}}\n", q.ID)
			case "no_utf8":
				answer(text("caf\xe9 \xff\xfe"))
			case "huge":
				answer(text(strings.Repeat("x", 1<<20)))
			case "endless":
				go answer(text(strings.Repeat("x", tooLong))) // which nobody reads to its end: this goes on until the input is closed
			case "no_result":
				answer(`{"content":"not a list"}`)
			case "batch":
				fmt.Printf(`[{"jsonrpc":"2.0","id":%s,"result":%s}]`+"\n", q.ID, text("one of several"))
			}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", q.ID)
		}
	}
}
