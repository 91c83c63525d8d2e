engine "vllm" {}

tier "gateway" {
  base_url   = "https://gateway.example/v1"
  headers    = { "x-route" = "a", "X-Tier" = "b" }
  header_env = { "api-key" = "GATEWAY_KEY" }
  tls {
    ca_file     = "ca.pem"
    server_name = "inner.example"
  }
}

tier "socket" {
  base_url    = "http://127.0.0.1/v1"
  unix_socket = "/run/vllm.sock"
}

context "exact" {
  grid   = [1024]
  sizing = "tokens"
}

sweep "s" {
  model       = "m"
  engine      = engine.vllm
  tier        = [tier.gateway, tier.socket]
  context     = [context.exact, 1024]
  concurrency = 1
  output      = { max_tokens = 64 }
  connection  = "fresh"
  timeout { first_output = "90s" }
}
