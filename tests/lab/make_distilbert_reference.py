#!/usr/bin/env python3
"""Writes distilbert_reference.safetensors: what Hugging Face's DistilBERT computes, for src/lab/sst2/distilbert_test.cpp.

  pip install torch transformers safetensors
  tests/lab/make_distilbert_reference.py ../shared/data

A small seeded model, three sentences of different lengths, padded: logits, mean loss, and the gradient of every parameter.
The configuration stands in the file's metadata. And what the small BERTs of the data folder make of one padded sentence's first
token.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

CONFIG = dict(vocab_size=48, max_position_embeddings=12, dim=16, n_layers=2, n_heads=4, hidden_dim=24, pad_token_id=0)


def first_token_by(folder):
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    tokens = torch.tensor([[2, 17, 40, 5, 3, 0, 0]])
    with torch.no_grad():
        return model(input_ids=tokens, attention_mask=(tokens != 0).long()).last_hidden_state[0, 0]


def main():
    torch.manual_seed(5)
    config = transformers.DistilBertConfig(**CONFIG)
    model = transformers.DistilBertForSequenceClassification(config).eval()
    with torch.no_grad():  # biases and norms too are to matter, and attention is to differ from place to place
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    lengths = torch.tensor([9, 4, 6])
    mask = torch.arange(9).unsqueeze(0) < lengths.unsqueeze(1)
    tokens = torch.randint(1, CONFIG["vocab_size"], (3, 9)) * mask
    labels = torch.tensor([1, 0, 1])
    result = model(input_ids=tokens, attention_mask=mask.long(), labels=labels)
    result.loss.backward()
    tensors = {"tokens": tokens, "lengths": lengths, "labels": labels, "logits": result.logits.detach(),
               "loss": result.loss.detach()}
    for name, parameter in model.named_parameters():
        tensors["weight." + name] = parameter.detach()
        tensors["gradient." + name] = parameter.grad
    for name in ["tiny-bert-1layer", "tiny-bert-2layer"]:
        tensors[name] = first_token_by(pathlib.Path(sys.argv[1]) / name)
    path = pathlib.Path(__file__).with_name("distilbert_reference.safetensors")
    save_file(tensors, path, {"config": json.dumps({**CONFIG, "model_type": "distilbert"}),
                              "made_by": f"transformers {transformers.__version__}, torch {torch.__version__}"})


if __name__ == "__main__":
    main()
