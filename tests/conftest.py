import torch

torch.set_num_threads(1)  # tests run in several processes; two threads each would fight over the cores
