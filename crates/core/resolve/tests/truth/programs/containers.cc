/* Objects in the containers and pointers of the standard library. Nothing is given back, so that each
 * address is one object's. */
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "truth.h"

void operator delete(void *) noexcept {}
void operator delete(void *, std::size_t) noexcept {}

struct Item {
	long price;
	int stock;
	short shelf;
	bool sold;
};

struct Order {
	unsigned id;
	std::vector<Item> items;
	std::shared_ptr<Item> gift;
	double total;
};

struct Stock {
	std::map<int, Item> by_number;
	std::unordered_map<unsigned, Item> by_hash;
	std::list<Order> orders;
	std::unique_ptr<Item> best;
	long turns;
};

static Stock *stock;

__attribute__((noinline)) static void sell(Item &item, int number)
{
	item.stock -= number;
	item.price += item.stock;
	item.sold = item.stock < 0;
}

__attribute__((noinline)) static double value(const std::vector<Item> &items)
{
	double all = 0;

	for (const Item &item : items)
		all += (double)item.price * item.shelf;
	return all;
}

void prepare(void)
{
	MEMBER(Item, price);
	MEMBER(Item, stock);
	MEMBER(Item, shelf);
	MEMBER(Item, sold);
	MEMBER(Order, id);
	OPAQUE(Order, items);
	OPAQUE(Order, gift);
	MEMBER(Order, total);
	OPAQUE(Stock, by_number);
	OPAQUE(Stock, by_hash);
	OPAQUE(Stock, orders);
	OPAQUE(Stock, best);
	MEMBER(Stock, turns);
	SCALAR(stock);
	stock = new Stock();
	OBJECT(stock, Stock);
	stock->best = std::make_unique<Item>(Item{ 9, 9, 9, false });
	OBJECT(stock->best.get(), Item);
	for (int n = 0; n < 6; n++) {
		stock->by_number[n * 3] = Item{ n, n, (short)n, false };
		stock->by_hash[(unsigned)n * 7] = Item{ n, 2 * n, 1, false };
		OBJECT(&stock->by_number[n * 3], Item);
		OBJECT(&stock->by_hash[(unsigned)n * 7], Item);
	}
	for (unsigned n = 0; n < 3; n++) {
		stock->orders.push_back(Order{ n, {}, std::make_shared<Item>(), 0 });
		Order &order = stock->orders.back();

		for (int m = 0; m < 5; m++)
			order.items.push_back(Item{ m, m, (short)n, false });
		OBJECT(&order, Order);
		OBJECT(order.gift.get(), Item);
		OBJECTS(order.items.data(), order.items.size(), Item);
	}
}

void turn(int number)
{
	for (auto &[key, item] : stock->by_number)
		item.price += key;
	for (auto &entry : stock->by_hash)
		entry.second.stock++;
	stock->by_number[number % 6 * 3].shelf++;
	for (Order &order : stock->orders) {
		order.total += value(order.items);
		for (Item &item : order.items)
			item.shelf ^= 1;
		sell(order.items[(unsigned)number % 5], 1);
		sell(*order.gift, number);
		order.gift->price--;
	}
	stock->best->price += stock->turns++;
	sell(*stock->best, 2);
}
