package observe_test

import (
	"fmt"
	"os"
	"time"

	"atenia/internal/memory/lane"
	"atenia/internal/policy/observe"
)

func Example() {
	w := observe.NewTraceWriter(os.Stdout, 0)
	w.Event(lane.Event{Phase: lane.Begin, ID: 1, Lane: lane.IO, Name: "prefetch:w"})
	w.Event(lane.Event{Phase: lane.End, ID: 1, Lane: lane.IO, Name: "prefetch:w", Tensor: "w", Bytes: 4096, At: 2 * time.Microsecond})
	fmt.Println(w.Close())
	// Output:
	// [
	// {"name":"thread_name","ph":"M","pid":1,"tid":1,"ts":0.000,"args":{"name":"SsdPrefetch 0"}},
	// {"name":"prefetch:w","ph":"X","cat":"Io","pid":1,"tid":1,"ts":0.000,"dur":2.000,"args":{"tensor":"w","bytes":4096,"MB_s":2048}}
	// ]
	// <nil>
}
