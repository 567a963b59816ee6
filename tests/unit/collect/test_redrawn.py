"""Lines that real trainings printed: bars that are drawn again, and numbers that are told twice."""

from __future__ import annotations

from hf_train.collect import LogReader, read_log
from hf_train.collect.reading import LogReading


def read(*segments: str) -> LogReading:
    return read_log(["".join(segments)])


def test_lightning_shows_the_last_validation_until_the_next_one() -> None:
    epochs = [
        "\rEpoch 0:   0%|          | 0/19 [00:00<?, ?it/s]",
        "\rEpoch 0:  53%|█████▎    | 10/19 [00:00<00:00, 180.33it/s, v_num=0, train_loss=2.250]",
        "\rEpoch 0:  53%|█████▎    | 10/19 [00:00<00:00, 179.54it/s, v_num=0, train_loss=1.880]",
        "\rEpoch 0: 100%|██████████| 19/19 [00:00<00:00, 190.70it/s, v_num=0, train_loss=1.880]",
        "\rEpoch 0: 100%|██████████| 19/19 [00:00<00:00, 190.23it/s, v_num=0, train_loss=0.743]",
        "\n\rValidation DataLoader 0:   0%|          | 0/5 [00:00<?, ?it/s]\x1b[A",
        "\n\rValidation DataLoader 0: 100%|██████████| 5/5 [00:00<00:00, 317.84it/s]\x1b[A",
        "\rEpoch 0: 100%|██████████| 19/19 [00:00<00:00, 159.44it/s, v_num=0, train_loss=0.743, val_loss=0.794]",
        "\rEpoch 0:   0%|          | 0/19 [00:00<?, ?it/s, v_num=0, train_loss=0.743, val_loss=0.794]          ",
        "\rEpoch 1:   0%|          | 0/19 [00:00<?, ?it/s, v_num=0, train_loss=0.743, val_loss=0.794]",
        "\rEpoch 1:  53%|█████▎    | 10/19 [00:00<00:00, 191.34it/s, v_num=0, train_loss=0.428, val_loss=0.794]",
        "\rEpoch 1: 100%|██████████| 19/19 [00:00<00:00, 232.02it/s, v_num=0, train_loss=0.254, val_loss=0.794]",
        "\rEpoch 1: 100%|██████████| 19/19 [00:00<00:00, 199.95it/s, v_num=0, train_loss=0.254, val_loss=0.456]",
    ]
    end = "`Trainer.fit` stopped: `max_epochs=2` reached.\n"
    reading = read(*epochs, end, epochs[-1], "\n")
    assert reading.curve["val_loss"] == ((19.0, 0.794), (38.0, 0.456))
    assert reading.curve["train_loss"] == ((10.0, 2.25), (10.0, 1.88), (19.0, 0.743), (29.0, 0.428), (38.0, 0.254))
    assert reading.metrics["train_loss"] == 0.254
    assert (reading.progress.step, reading.progress.total) == (38, 38)


def test_lightning_tells_at_its_end_how_many_epochs_were_planned() -> None:
    reader = LogReader()
    reader.feed("\rEpoch 3: 100%|██████████| 19/19 [00:00<00:00, 199.95it/s, v_num=0, train_loss=0.2]\n")
    assert (reader.snapshot().step, reader.snapshot().total) == (76, None)
    reader.feed("`Trainer.fit` stopped: `max_epochs=4` reached.\n")
    assert reader.snapshot().total == 76


def test_lightnings_last_epoch_is_shorter_when_max_steps_ends_it() -> None:
    reading = read(
        "\rEpoch 1: 100%|██████████| 19/19 [00:00<00:00, 48.60it/s, v_num=1, train_loss=0.297]",
        "\rEpoch 2:  83%|████████▎ | 10/12 [00:00<00:00, 52.35it/s, v_num=1, train_loss=0.217]",
        "\rEpoch 2: 100%|██████████| 12/12 [00:00<00:00, 51.35it/s, v_num=1, train_loss=0.144]",
        "`Trainer.fit` stopped: `max_steps=50` reached.\n",
    )
    assert reading.progress.step == 50
    assert reading.curve["train_loss"] == ((38.0, 0.297), (48.0, 0.217), (50.0, 0.144))


def test_lightnings_rich_bar_has_its_curve_over_steps() -> None:
    reading = read(
        "Epoch 2/2  ━━━━━━━━━━━━━━━━ 20/20 0:00:00 • 0:00:00 154.86it/s v_num: 0.000     \n",
        "                                                               train_loss: 0.215\n",
        "                                                               val_loss: 0.250  \n",
    )
    assert (reading.progress.step, reading.progress.total) == (60, 60)
    assert reading.curve["val_loss"] == ((60.0, 0.25),)


def test_diffusers_shows_the_loss_of_the_step_before_until_it_is_set() -> None:
    reading = read(
        "\rSteps:   7%|▋         | 2/30 [00:00<00:02, 13.39it/s, lr=0.001, step_loss=1.18]",
        "\rSteps:   7%|▋         | 2/30 [00:00<00:02, 13.39it/s, lr=0.001, step_loss=1.1] ",
        "\rSteps:  10%|█         | 3/30 [00:00<00:02, 13.39it/s, lr=0.001, step_loss=1.1]",
        "\rSteps:  10%|█         | 3/30 [00:00<00:02, 13.39it/s, lr=0.001, step_loss=nan]\n",
    )
    assert reading.curve["step_loss"] == ((2.0, 1.18), (2.0, 1.1))
    assert reading.curve["lr"] == ((2.0, 0.001),)
    assert str(reading.metrics["step_loss"]) == "nan"
    assert reading.status == "diverged"


def test_keras_draws_the_full_bar_twice() -> None:
    bar = "\r\x1b[1m{}/13\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 27ms/step"
    bar += " - accuracy: {} - loss: {}"
    reading = read(
        "Epoch 1/2\n",
        bar.format(6, "0.25", "1.1044"),
        bar.format(13, "0.4372", "0.7651"),
        bar.format(13, "0.4372", "0.7651"),
        " - val_accuracy: 0.8824 - val_loss: 0.4903\nEpoch 2/2\n",
        bar.format(13, "0.4372", "0.4235"),
        " - val_accuracy: 0.9176 - val_loss: 0.3264\n",
    )
    assert reading.curve["loss"] == ((13.0, 0.7651), (26.0, 0.4235))
    assert reading.curve["accuracy"] == ((13.0, 0.4372), (26.0, 0.4372))
    assert reading.curve["val_loss"] == ((13.0, 0.4903), (26.0, 0.3264))
    assert (reading.progress.step, reading.progress.total) == (26, 26)


def test_sentence_transformers_evaluation_on_the_way_has_one_name() -> None:
    logger = "2026-12-02 09:04:13,943 - INFO - sentence_transformers.evaluation.embedding_similarity - "
    reading = read(
        f"\r  0%|          | 0/10 [00:00<?, ?it/s]\x1b[A{logger}EmbeddingSimilarityEvaluator: ",
        "Evaluating the model on the sts-dev dataset in epoch 4.0 after 80 steps:\n",
        f"{logger}Cosine-Similarity:\tPearson: 0.8720\tSpearman: 0.8635\n",
        "\r      \r\x1b[A{'eval_loss': '0.03145', 'eval_sts-dev_pearson_cosine': '0.872',"
        " 'eval_sts-dev_spearman_cosine': '0.8635', 'epoch': '4'}\n",
        f"{logger}EmbeddingSimilarityEvaluator: Evaluating the model on the sts-test dataset:\n",
        f"{logger}Cosine-Similarity:\tPearson: 0.8763\tSpearman: 0.8621\n",
    )
    assert {name: value for name, value in reading.metrics.items() if "cosine" in name} == {
        "eval_sts-dev_pearson_cosine": 0.872,
        "eval_sts-dev_spearman_cosine": 0.8635,
        "eval_sts-test_pearson_cosine": 0.8763,
        "eval_sts-test_spearman_cosine": 0.8621,
    }
    assert "eval_sts-test_pearson_cosine" not in reading.curve


def test_sentence_transformers_evaluator_without_a_name() -> None:
    reading = read(
        "EmbeddingSimilarityEvaluator: Evaluating the model on the  dataset in epoch 1.0 after 20 steps:\n",
        "Cosine-Similarity:\tPearson: 0.3223\tSpearman: 0.2893\n",
        "EmbeddingSimilarityEvaluator: Evaluating the model on the  dataset after epoch 1:\n",
        "Cosine-Similarity:\tPearson: 0.4\tSpearman: 0.3\n",
    )
    assert reading.metrics["eval_pearson_cosine"] == 0.4
    assert reading.curve["eval_pearson_cosine"] == ((20.0, 0.3223),)


def test_sentence_transformers_scores_on_the_way_have_the_names_and_units_of_the_dict() -> None:
    training = " in epoch 1.0 after 20 steps:\n"
    lines = (
        f"Binary Accuracy Evaluation of the model on the bin dataset{training}",
        "Accuracy with Cosine-Similarity:             67.50\t(Threshold: 0.9885)\n",
        "Average Precision with Dot-Product:          43.47\n",
        "Matthews Correlation with Cosine-Similarity: 23.59\n",
        f"TripletEvaluator: Evaluating the model on the tri dataset{training}Accuracy Cosine Similarity:\t51.25%\n",
        f"Information Retrieval Evaluation of the model on the ir dataset{training}",
        "Queries: 80\nCorpus: 80\n\nScore-Function: cosine\nAccuracy@1: 1.25%\nMRR@10: 0.0438\n",
        "Aggregated for Score Function: cosine\nNDCG@10: 0.0657\n",
        f"RerankingEvaluator: Evaluating the model on the rr dataset{training}MAP: 35.10\nMRR@10: 40.00\n",
        f"CrossEncoderCorrelationEvaluator: Evaluating the model on ce dataset{training}",
        "Correlation:\tPearson: 0.9\tSpearman: 0.8\n",
        f"CrossEncoderRerankingEvaluator: Evaluating the model on the nq dataset{training}",
        "      Base  -> Reranked\nMAP:      48.96 -> 61.01\n",
        f"MSE evaluation (lower = better) on the mse dataset{training}MSE (*100):\t5.125574\n",
    )
    reading = read(*lines)
    assert dict(reading.metrics) == {
        "eval_bin_cosine_accuracy": 0.675,
        "eval_bin_dot_ap": 0.4347,
        "eval_bin_cosine_mcc": 0.2359,
        "eval_tri_cosine_accuracy": 0.5125,
        "eval_ir_cosine_accuracy@1": 0.0125,
        "eval_ir_cosine_mrr@10": 0.0438,
        "eval_NanoBEIR_mean_cosine_ndcg@10": 0.0657,
        "eval_rr_map": 0.351,
        "eval_rr_mrr@10": 0.4,
        "eval_ce_pearson": 0.9,
        "eval_ce_spearman": 0.8,
        "eval_nq_map": 0.6101,
        "eval_mse_negative_mse": -5.125574,
    }
    assert set(reading.curve.values()) == {((20.0, value),) for value in reading.metrics.values()}


def test_what_a_script_prints_after_an_evaluation_is_its_own() -> None:
    reading = read(
        "EmbeddingSimilarityEvaluator: Evaluating the model on the dev dataset in epoch 1.0 after 20 steps:\n",
        "Cosine-Similarity:\tPearson: 0.3223\tSpearman: 0.2893\n",
        "Accuracy: 0.85\n",
        "Information Retrieval Evaluation of the model on the ir dataset:\nScore-Function: cosine\nAccuracy@1: 1.25%\n",
    )
    assert (reading.metrics["Accuracy"], reading.metrics["Accuracy@1"]) == (0.85, 1.25)
