/* Classes: inheritance, several and virtual bases, virtual functions, templates, references, lambdas,
 * atomics. */
#include <atomic>
#include <cstdlib>

#include "truth.h"

namespace zoo
{

struct Counter {
	std::atomic<unsigned long> seen{ 0 };
	std::atomic<int> live{ 0 };
};

class Animal
{
public:
	virtual ~Animal() = default;
	virtual int speak(int loud) = 0;
	void feed(int by)
	{
		weight += by;
		meals++;
	}

	int weight = 1;
	int meals = 0;
	Animal *next = nullptr;
};

class Named
{
public:
	virtual void rename(char first)
	{
		name[0] = first;
		renamed++;
	}

	char name[12] = "nobody";
	unsigned renamed = 0;
};

class Dog : public Animal
{
public:
	int speak(int loud) override
	{
		barks += loud;
		return barks;
	}

	long barks = 0;
};

class Parrot : public Animal, public Named
{
public:
	int speak(int loud) override
	{
		words[loud & 3]++;
		volume = loud;
		return words[1];
	}
	void rename(char first) override
	{
		Named::rename(first);
		words[0] = 0;
	}

	int words[4] = {};
	short volume = 0;
};

template <typename T, unsigned N> class Ring
{
public:
	void push(const T &value)
	{
		slots[head % N] = value;
		head++;
	}
	T &last() { return slots[(head - 1) % N]; }

	unsigned head = 0;
	T slots[N] = {};
};

struct Visit {
	long when;
	int who;
};

using Visits = Ring<Visit, 6>;

struct House {
	Counter counter;
	Visits visits;
	Animal *first = nullptr;
	double temperature = 20;
};

} // namespace zoo

using namespace zoo;

static House *house;
static Counter global_counter;
static Dog *dogs[3];
static Parrot *parrots[3];

template <typename F> __attribute__((noinline)) static void each(Animal *first, F visit)
{
	for (Animal *at = first; at; at = at->next)
		visit(*at);
}

__attribute__((noinline)) static void count(Counter &counter)
{
	counter.seen++;
	counter.live.fetch_add(2, std::memory_order_relaxed);
}

__attribute__((noinline)) static void enter(House &into, int who)
{
	into.visits.push({ who * 10, who });
	into.visits.last().when++;
	into.temperature += 0.5;
	count(into.counter);
}

void prepare(void)
{
	INNER(Counter, seen, std::atomic<unsigned long>);
	INNER(Counter, live, std::atomic<int>);
	truth_member("atomic", "", 0, 4, "__atomic_base", 4);
	truth_member("__atomic_base", "_M_i", 0, 8, "", 0);
	truth_member("Animal", "weight", offsetof(Dog, weight), sizeof(int), "", 0);
	truth_member("Animal", "meals", offsetof(Dog, meals), sizeof(int), "", 0);
	truth_member("Animal", "next", offsetof(Dog, next), sizeof(void *), "", 0);
	truth_member("Animal", "_vptr", 0, sizeof(void *), "", 0);
	MEMBER(Named, name);
	MEMBER(Named, renamed);
	truth_member("Named", "_vptr", 0, sizeof(void *), "", 0);
	BASE(Dog, Animal);
	MEMBER(Dog, barks);
	BASE(Parrot, Animal);
	BASE(Parrot, Named);
	MEMBER(Parrot, words);
	MEMBER(Parrot, volume);
	MEMBER(Visit, when);
	MEMBER(Visit, who);
	truth_member("Ring", "head", offsetof(Visits, head), sizeof(unsigned), "", 0);
	truth_member("Ring", "slots", offsetof(Visits, slots), 6 * sizeof(Visit), "Visit", sizeof(Visit));
	INNER(House, counter, Counter);
	truth_member("House", "visits", offsetof(House, visits), sizeof(Visits), "Ring", sizeof(Visits));
	MEMBER(House, first);
	MEMBER(House, temperature);
	OBJECT(&global_counter, Counter);
	SCALAR(house);
	truth_scalar(dogs, sizeof dogs, "dogs");
	truth_scalar(parrots, sizeof parrots, "parrots");
	house = new House;
	OBJECT(house, House);
	for (int n = 0; n < 3; n++) {
		dogs[n] = new Dog;
		parrots[n] = new Parrot;
		OBJECT(dogs[n], Dog);
		OBJECT(parrots[n], Parrot);
		dogs[n]->next = house->first;
		parrots[n]->next = dogs[n];
		house->first = parrots[n];
	}
}

void turn(int number)
{
	each(house->first, [number](Animal &animal) {
		animal.weight += animal.speak(number);
		animal.feed(number);
	});
	for (Parrot *parrot : parrots) {
		Named *named = parrot;

		named->rename((char)('a' + number % 20));
		parrot->volume++;
	}
	for (Dog *dog : dogs)
		dog->barks ^= 1;
	enter(*house, number);
	count(global_counter);
}
