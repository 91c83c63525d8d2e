package client

import "time"

// Request is one chat completion to be streamed.
type Request struct {
	Model           string
	Prompt          string
	MaxTokens       int
	Temperature     float64
	TopP            *float64
	MinTokens       *int
	IgnoreEOS       *bool
	EnableThinking  *bool  // chat_template_kwargs.enable_thinking
	ReasoningEffort string // empty: not sent
}

// Observation is what one request did, told as plain values. Every duration is
// measured on the monotonic clock from Start.
type Observation struct {
	Start     time.Time     // the moment before the request is written
	Connect   time.Duration // time spent opening the connection, before Start
	Reused    bool          // the connection had served an earlier request
	Sent      int64         // bytes of the request body
	Received  bool          // a stream was read to its end, or to a failure inside it
	BytesRead int64

	FirstOutput  *time.Duration // first non-empty reasoning or content delta (TTFO)
	FirstContent *time.Duration // first non-empty content delta (TTFT)
	FirstTool    *time.Duration // first tool-call delta
	End          time.Duration  // [DONE], end of stream, or failure (E2E)

	Arrivals        Arrivals // when each chunk with output came
	ContentChunks   int
	ReasoningChunks int
	ToolChunks      int
	Text            string // visible text, at most CaptureLimit characters
	Truncated       bool   // there was more visible text than Text holds
	Usage           *Usage
	FinishReasons   []string // non-empty finish reasons in order, each at most 128 characters
	Terminal        bool     // [DONE] or a finish reason was seen
	Warnings        []string // what was unusual but not a failure

	Failure *Failure // nil when the stream came whole
}

// CaptureLimit is how many characters of visible text are kept.
const CaptureLimit = 8192

// Usage is the last usage object the server sent. Nil fields were absent.
type Usage struct {
	PromptTokens     *int64
	CompletionTokens *int64
	TotalTokens      *int64
	CachedTokens     *int64 // prompt_tokens_details.cached_tokens
}

// Failure says why a request did not succeed. It is data, and it never enters
// a success figure.
type Failure struct {
	Kind       Kind
	Message    string // never empty; at most 2,048 characters; never holds a key
	Status     int    // HTTP status, 0 when none was read
	RetryAfter string // as sent by the server
}

// Error makes a Failure usable as an error.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }

// Kind names what went wrong, by the place it went wrong in.
type Kind string

// Failure kinds.
const (
	KindDial             Kind = "dial"                 // no connection
	KindDNS              Kind = "dns"                  // no address
	KindProxy            Kind = "proxy"                // the proxy gave no connection
	KindTLS              Kind = "tls"                  // handshake failed
	KindTimeoutConnect   Kind = "timeout_connect"      // the connection did not open in time
	KindTimeoutFirstByte Kind = "timeout_first_byte"   // no whole response header in time
	KindTimeoutOutput    Kind = "timeout_first_output" // no output in time, though the response had begun
	KindTimeoutIdle      Kind = "timeout_idle"         // the stream stalled
	KindTimeoutTotal     Kind = "timeout_total"        // the whole request took too long
	KindHTTPStatus       Kind = "http_status"          // not 200
	KindNotEventStream   Kind = "not_event_stream"     // 200 with another content type, such as HTML
	KindNotStreaming     Kind = "not_streaming"        // 200 with one JSON completion
	KindServerError      Kind = "server_error"         // an error object inside a 200 response
	KindProtocol         Kind = "protocol"             // broken HTTP or undecodable events
	KindEventTooLarge    Kind = "event_too_large"      // an event above the bound
	KindTruncated        Kind = "stream_truncated"     // the stream ended before a finish reason or [DONE]
	KindEmptyStream      Kind = "empty_stream"         // 200 and nothing in it
	KindAborted          Kind = "aborted"              // finish_reason "abort"
	KindConnStale        Kind = "conn_stale"           // a kept-alive connection died as the request was written
	KindCancelled        Kind = "cancelled"            // we stopped it
	KindNoOutput         Kind = "no_output"            // a whole stream without visible content
	KindIdentity         Kind = "identity"             // the server is not the one that was to be measured
)
