engine "vllm" {}
engine "sim" {}
tier "t" {
  base_url = "http://127.0.0.1:8000/v1"
}
tier "embedded" {
  profile = "small"
}
model "u" {
  id = cell.model.id # ERROR: cell is known only where a cell exists
}
sweep "s" {
  model = "m"
  engine = engine.vllm
  tier = tier.t
  context = 1024
  concurrency = 1
  output = { max_tokens = 64 }
}
